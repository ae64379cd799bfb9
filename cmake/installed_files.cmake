# Run by `cmake --install` at its end: writes the names of the installed files, relative to the prefix.
set(names ${CMAKE_INSTALL_MANIFEST_FILES})
list(TRANSFORM names REPLACE "^${CMAKE_INSTALL_PREFIX}/" "")
list(APPEND names ${HOCKET_INSTALLED_FILES})
list(JOIN names "\n" names)
file(WRITE "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/${HOCKET_INSTALLED_FILES}" "${names}\n")
