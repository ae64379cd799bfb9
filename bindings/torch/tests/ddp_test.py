"""DistributedDataParallel in all of its forms, and what scripts do beside it."""

import copy
import tempfile

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel

from ranks import main, on_ranks
from training import ROWS, Network, OnRanks, batch, network, train


class DataParallel(OnRanks):
    @on_ranks(4)
    def test_learns_as_one_process_does(self):
        self.like_one_process()

    @on_ranks(4)
    def test_with_many_buckets(self):
        self.like_one_process_with_many_buckets()

    @on_ranks(4)
    def test_with_gradients_as_views_of_buckets(self):
        self.like_one_process_with_many_buckets(gradient_as_bucket_view=True)

    @on_ranks(4)
    def test_with_a_static_graph(self):
        self.like_one_process(static_graph=True)

    @on_ranks(4)
    def test_with_unused_parameters(self):
        self.like_one_process(make=lambda: network(unused=True), find_unused_parameters=True)

    @on_ranks(4)
    def test_with_parameters_that_some_ranks_use(self):
        model = DistributedDataParallel(network(unused=True), find_unused_parameters=True)
        train(model, self.rank, self.size, through_unused=self.rank % 2 == 0)
        self.all_equal(model)

    @on_ranks(4)
    def test_with_double_precision_and_a_group(self):
        alone = network().double()
        model = DistributedDataParallel(network().double(), process_group=dist.new_group())
        for current, rank, size in ((alone, 0, None), (model, self.rank, self.size)):
            rows, labels = batch(self.size)
            rows, labels = (rows, labels) if size is None else (part[rank * ROWS:(rank + 1) * ROWS] for part in (rows, labels))
            nn.functional.cross_entropy(current(rows.double()), labels).backward()
        for mine, theirs in zip(model.parameters(), alone.parameters()):
            self.close(mine.grad, theirs.grad)

    @on_ranks(4)
    def test_outputs_that_no_loss_uses(self):
        model = DistributedDataParallel(network(unused=True), find_unused_parameters=True)
        rows, labels = (part[self.rank * ROWS:(self.rank + 1) * ROWS] for part in batch(self.size))
        for _ in range(4):
            model(rows)
        for _ in range(2):
            nn.functional.cross_entropy(model(rows), labels).backward()
        everyone = [torch.zeros(3) for _ in range(self.size)]
        dist.all_gather(everyone, model.module.last.bias.grad)
        self.assertTrue(all(torch.equal(other, everyone[0]) for other in everyone))

    @on_ranks(4)
    def test_no_sync_gathers_gradients(self):
        alone, model = network(), DistributedDataParallel(network())
        for step in range(2):
            rows, labels = batch(self.size, step)
            nn.functional.cross_entropy(alone(rows), labels).backward()
        share = [[part[self.rank * ROWS:(self.rank + 1) * ROWS] for part in batch(self.size, step)] for step in range(2)]
        with model.no_sync():
            nn.functional.cross_entropy(model(share[0][0]), share[0][1]).backward()
        nn.functional.cross_entropy(model(share[1][0]), share[1][1]).backward()
        for mine, theirs in zip(model.parameters(), alone.parameters()):
            self.close(mine.grad, theirs.grad)

    @on_ranks(4)
    def test_ranks_begin_with_the_weights_of_rank_0(self):
        torch.manual_seed(self.rank)
        model = DistributedDataParallel(Network())
        self.all_equal(model)

    @on_ranks(4)
    def test_buffers_are_those_of_rank_0(self):
        model = DistributedDataParallel(nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8)))
        for step in range(2):
            model(torch.randn(5, 6, generator=torch.Generator().manual_seed(self.rank + step))).sum().backward()
        model(torch.randn(5, 6))
        mean = model.module[1].running_mean.clone()
        model.module[1].running_mean.fill_(self.rank)
        model.eval()
        model.train()
        model(torch.zeros(5, 6))
        self.assertFalse(torch.equal(mean, model.module[1].running_mean))
        everyone = [torch.zeros(8) for _ in range(self.size)]
        dist.all_gather(everyone, model.module[1].running_mean)
        self.close(everyone[0], everyone[3])

    @on_ranks(4)
    def test_sparse_gradients(self):
        alone = nn.Embedding(10, 4, sparse=True)
        torch.nn.init.constant_(alone.weight, 1.0)
        model = DistributedDataParallel(copy.deepcopy(alone))
        everyone = [torch.tensor([rank, rank + 1, 9]) for rank in range(self.size)]
        (sum(alone(rows).pow(2).sum() for rows in everyone) / self.size).backward()
        model(everyone[self.rank]).pow(2).sum().backward()
        self.close(model.module.weight.grad.to_dense(), alone.weight.grad.to_dense())

    @on_ranks(4)
    def test_uneven_inputs(self):
        model = DistributedDataParallel(network())
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        with Join([model]):
            for step in range(self.rank + 1):
                rows, _ = batch(1, step)
                model(rows).sum().backward()
                optimizer.step()
                optimizer.zero_grad()
        self.all_equal(model)

    @on_ranks(4)
    def test_models_that_differ_are_refused_on_all_ranks(self):
        with self.assertRaisesRegex(RuntimeError, "same model"):
            DistributedDataParallel(nn.Linear(4, 4, bias=self.rank > 0))
        dist.barrier()


class Surroundings(OnRanks):
    """What scripts do beside it."""

    @on_ranks(2)
    def test_a_loader_with_processes_of_its_own(self):
        """They are forked while the group's threads run."""
        rows, labels = batch(8)
        dataset = torch.utils.data.TensorDataset(rows, labels)
        sampler = torch.utils.data.DistributedSampler(dataset, shuffle=False)
        model = DistributedDataParallel(network())
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        seen = 0
        for _ in range(2):
            for mine, wanted in torch.utils.data.DataLoader(dataset, 4, sampler=sampler, num_workers=2):
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(mine), wanted).backward()
                optimizer.step()
                seen += len(mine)
        self.assertEqual(seen, len(dataset))
        self.all_equal(model)

    @on_ranks(2)
    def test_channels_last(self):
        model = DistributedDataParallel(nn.Conv2d(3, 8, 3).to(memory_format=torch.channels_last))
        pictures = torch.randn(4, 3, 8, 8, generator=torch.Generator().manual_seed(self.rank))
        model(pictures.to(memory_format=torch.channels_last)).sum().backward()
        everyone = [torch.zeros(8, 3, 3, 3) for _ in range(2)]
        dist.all_gather(everyone, model.module.weight.grad.contiguous())
        self.assertTrue(torch.equal(everyone[0], everyone[1]))

    @on_ranks(2)
    def test_a_checkpoint_that_rank_0_writes(self):
        model = DistributedDataParallel(network())
        train(model, self.rank, self.size)
        with tempfile.NamedTemporaryFile() as file:
            path = [file.name]
            dist.broadcast_object_list(path, 0)
            if self.rank == 0:
                torch.save(model.state_dict(), path[0])
            dist.barrier()
            other = DistributedDataParallel(Network())
            other.load_state_dict(torch.load(path[0]))
            dist.barrier()
        self.weights_are(other.module, model.module)


if __name__ == "__main__":
    main()
