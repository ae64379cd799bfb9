"""What torch builds on DistributedDataParallel and on groups: hooks, sharded optimizers, averaging."""

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as differentiable
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, post_localSGD_hook, powerSGD_hook
from torch.distributed.algorithms.model_averaging import averagers
from torch.distributed.optim import PostLocalSGDOptimizer, ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

from ranks import BACKEND, main, on_ranks
from training import OnRanks, network, train


class Hooks(OnRanks):
    @on_ranks(4)
    def test_of_torch(self):
        self.like_one_process(hook=lambda model: model.register_comm_hook(None, default_hooks.allreduce_hook))

    @on_ranks(4)
    def test_in_half_precision(self):
        self.like_one_process(1e-2, hook=lambda model: model.register_comm_hook(None, default_hooks.fp16_compress_hook))

    @on_ranks(4)
    def test_built_in(self):
        kind = dist.BuiltinCommHookType.ALLREDUCE
        self.like_one_process(hook=lambda model: model._register_builtin_comm_hook(kind))  # pylint: disable=protected-access

    @on_ranks(4)
    def test_of_the_callers(self):
        def hook(state, bucket):
            state.append(bucket.index())
            future = dist.all_reduce(bucket.buffer(), async_op=True).get_future()
            return future.then(lambda done: done.value()[0] / dist.get_world_size())

        seen = []
        self.like_one_process_with_many_buckets(hook=lambda model: model.register_comm_hook(seen, hook))
        self.assertGreater(len(seen), 3)

    @on_ranks(4)
    def test_that_gathers(self):
        def hook(_, bucket):
            mine = bucket.buffer()
            everyone = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
            future = dist.all_gather(everyone, mine, async_op=True).get_future()
            return future.then(lambda done: torch.stack(everyone).mean(0))

        self.like_one_process(hook=lambda model: model.register_comm_hook(None, hook))

    @on_ranks(4)
    def test_that_are_none(self):
        model = DistributedDataParallel(network())
        with self.assertRaisesRegex(TypeError, "must be callable"):
            model.register_comm_hook(None, 1)
        model.register_comm_hook(None, lambda state, bucket: 1)
        with self.assertRaises(RuntimeError):
            model.register_comm_hook(None, default_hooks.allreduce_hook)
        with self.assertRaisesRegex(RuntimeError, "(?i)future"):
            train(model, self.rank, self.size, steps=1)
        dist.barrier()

    @on_ranks(4)
    def test_power_sgd(self):
        state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=2, start_powerSGD_iter=2)
        model = DistributedDataParallel(network())
        model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
        train(model, self.rank, self.size, steps=5)
        self.all_equal(model)

    @on_ranks(4)
    def test_post_local_sgd(self):
        pairs = [dist.new_group([0, 1]), dist.new_group([2, 3])]
        state = post_localSGD_hook.PostLocalSGDState(None, pairs[self.rank // 2], start_localSGD_iter=2)
        model = DistributedDataParallel(network())
        model.register_comm_hook(state, post_localSGD_hook.post_localSGD_hook)
        averager = averagers.PeriodicModelAverager(period=2, warmup_steps=2)
        optimizer = PostLocalSGDOptimizer(torch.optim.SGD(model.parameters(), 0.1), averager)
        train(model, self.rank, self.size, steps=5, optimizer=optimizer)
        self.all_equal(model)


class Optimizers(OnRanks):
    @on_ranks(4)
    def test_zero_redundancy_optimizer(self):
        for options in ({}, {"parameters_as_bucket_view": True}):
            alone, model = network(), DistributedDataParallel(network())
            train(alone, 0, None, optimizer=torch.optim.Adam(alone.parameters(), 0.01))
            optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.01, **options)
            train(model, self.rank, self.size, optimizer=optimizer)
            self.weights_are(model.module, alone, 1e-4)
            optimizer.consolidate_state_dict(1)
            if self.rank == 1:
                self.assertEqual(len(optimizer.state_dict()["state"]), 6)

    @on_ranks(4)
    def test_functions_with_gradients(self):
        mine = torch.full((3,), float(self.rank), requires_grad=True)
        (differentiable.all_reduce(mine) * (self.rank + 1)).sum().backward()
        self.close(mine.grad, torch.full((3,), 10.0))
        mine = torch.full((3,), 2.0, requires_grad=True)
        torch.cat(differentiable.all_gather(mine)).pow(2).sum().backward()
        self.close(mine.grad, torch.full((3,), 16.0))

    @on_ranks(4)
    def test_fully_sharded_data_parallel(self):
        try:
            from torch.distributed.fsdp import FullyShardedDataParallel  # pylint: disable=import-outside-toplevel
        except (ImportError, ValueError, RuntimeError) as error:
            self.skipTest(f"this torch cannot import it: {error}")
        if BACKEND == "gloo":
            self.skipTest("gloo lacks the collectives")
        try:
            model = FullyShardedDataParallel(network(), device_id=None)
            train(model, self.rank, self.size)
        except (AssertionError, RuntimeError, ValueError) as error:
            if any(word in str(error).lower() for word in ("cuda", "gpu", "accelerator")):
                self.skipTest(f"this torch runs it on GPUs only: {error}")
            raise


if __name__ == "__main__":
    main()
