"""The Graph space: nodes and edges with an element of a space each, and the links between nodes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from envwire.envs import logger
from envwire.envs.logger import require
from envwire.envs.spaces import arguments
from envwire.envs.spaces.batched_elements import (
    Allocate,
    batch_from_json,
    batch_to_json,
    create_empty_array,
    elements_of,
)
from envwire.envs.spaces.batched_spaces import batch_space
from envwire.envs.spaces.space import CompositeSpace, Seed, Space
from envwire.envs.type_guards import is_array


class GraphInstance(NamedTuple):
    """One graph.

    Attributes:
        nodes: A batch of the elements at the nodes.
        edges: A batch of the elements at the edges, or None if there are none.
        edge_links: The two nodes that each edge joins, by position: an integer array of shape
            (number of edges, 2), or None if there are no edges.
    """

    nodes: Any
    edges: Any | None
    edge_links: NDArray[Any] | None


class Graph(CompositeSpace[GraphInstance]):
    """The graphs with an element of one space at each node and of another at each edge.

    Attributes:
        node_space: The space of the nodes.
        edge_space: The space of the edges, or None if the graphs have none.
        batch_node_space: The batched form of `node_space`.
        batch_edge_space: The batched form of `edge_space`, or None.
    """

    node_space: Space[Any]
    edge_space: Space[Any] | None
    batch_node_space: Space[Any]
    batch_edge_space: Space[Any] | None

    def __init__(
        self,
        node_space: Space[Any],
        edge_space: Space[Any] | None,
        seed: Seed | np.random.Generator | None = None,
    ) -> None:
        """Builds the space from the spaces of nodes and edges.

        Args:
            node_space: The space of the nodes.
            edge_space: The space of the edges, or None for graphs without any.
            seed: See `seed`.

        Raises:
            TypeError: ``node_space`` or ``edge_space`` is not a space.
        """
        self.node_space = node_space
        self.edge_space = edge_space
        self.batch_node_space = batch_space(node_space, 1)
        self.batch_edge_space = None if edge_space is None else batch_space(edge_space, 1)
        super().__init__(None, None, seed)

    def seed(self, seed: Seed | None = None) -> tuple[Any, ...]:
        """Seeds this space, which draws the links, and those of nodes and edges.

        Args:
            seed: None for fresh entropy, an int from which the other seeds are drawn, or a tuple
                or list: the seed of this space, of the nodes and, if there are any, of the edges.

        Returns:
            The seed of this space, of the nodes and, if there are any, of the edges.

        Raises:
            TypeError, ValueError: ``seed`` is of another type or length.
        """
        parts = [space for space in (self.node_space, self.edge_space) if space is not None]
        return self._seed_all(parts, seed)

    def sample(
        self,
        mask: tuple[Any, Any] | None = None,
        probability: tuple[Any, Any] | None = None,
        num_nodes: int = 10,
        num_edges: int | None = None,
    ) -> GraphInstance:
        """Draws a graph.

        Args:
            mask: A pair: a mask for the batch of all nodes, and one for the edges. The latter is
                for each edge alike if ``num_edges`` is None, and otherwise for the batch of all.
            probability: The same with probabilities.
            num_nodes: The number of nodes, at least 1.
            num_edges: The number of edges; by default any below ``num_nodes * (num_nodes - 1)``.

        Raises:
            ValueError, AssertionError: See `Space.sample`.
        """
        require(num_nodes > 0, f"A graph needs at least one node, got num_nodes={num_nodes}.")
        kind, chosen = arguments.choose(mask, probability)
        node_mask, edge_mask = (None, None) if chosen is None else chosen
        if num_edges is None:
            most = num_nodes * (num_nodes - 1)
            num_edges = int(self.np_random.integers(most)) if most else 0
            edge_mask = None if edge_mask is None else (edge_mask,) * num_edges
        else:
            require(num_edges >= 0, f"num_edges must not be negative, got {num_edges}.")
            if self.edge_space is None:
                logger.warn(
                    f"num_edges={num_edges} has no effect: the graphs of {self} have no edges."
                )
        nodes = _sample_batch(self.node_space, num_nodes, kind, node_mask)
        if num_edges == 0 or self.edge_space is None:
            return GraphInstance(nodes, None, None)
        edges = _sample_batch(self.edge_space, num_edges, kind, edge_mask)
        links = self.np_random.integers(0, num_nodes, (num_edges, 2), np.int32)
        return GraphInstance(nodes, edges, links)

    def contains(self, x: Any) -> bool:
        """Returns whether ``x`` is a `GraphInstance` of elements, with links between its nodes."""
        if not isinstance(x, GraphInstance) or x.nodes is None:
            return False
        nodes = elements_of(self.batch_node_space, x.nodes)
        return nodes is not None and (
            all(node in self.node_space for node in nodes) and self._has_edges(x, len(nodes))
        )

    def _has_edges(self, x: GraphInstance, num_nodes: int) -> bool:
        if x.edges is None or x.edge_links is None:
            return x.edges is None and x.edge_links is None
        if self.edge_space is None or self.batch_edge_space is None:
            return False
        edges = elements_of(self.batch_edge_space, x.edges)
        return edges is not None and (
            all(edge in self.edge_space for edge in edges)
            and _are_links(x.edge_links, len(edges), num_nodes)
        )

    def to_jsonable(self, sample_n: Iterable[GraphInstance]) -> list[dict[str, Any]]:
        """Turns each graph into a dict with ``nodes`` and, if it has them, edges and links."""
        return [self._to_json(sample) for sample in sample_n]

    def _to_json(self, sample: GraphInstance) -> dict[str, Any]:
        nodes = {"nodes": batch_to_json(self.node_space, self.batch_node_space, sample.nodes)}
        if sample.edges is None or sample.edge_links is None:
            return nodes
        edges = batch_to_json(*self.edge_spaces(), sample.edges)
        return {**nodes, "edges": edges, "edge_links": sample.edge_links.tolist()}

    def from_jsonable(self, sample_n: Iterable[dict[str, Any]]) -> list[GraphInstance]:
        """Turns dicts back into graphs."""
        return [self._from_json(sample) for sample in sample_n]

    def _from_json(self, sample: dict[str, Any]) -> GraphInstance:
        nodes = batch_from_json(self.node_space, self.batch_node_space, sample["nodes"])
        if "edges" not in sample:
            return GraphInstance(nodes, None, None)
        edges = batch_from_json(*self.edge_spaces(), sample["edges"])
        return GraphInstance(nodes, edges, np.asarray(sample["edge_links"], np.int32))

    def edge_spaces(self) -> tuple[Space[Any], Space[Any]]:
        """Returns the space of the edges and its batched form.

        Raises:
            ValueError: The graphs have no edges.
        """
        if self.edge_space is None or self.batch_edge_space is None:
            raise ValueError(f"The graphs of {self} have no edges.")
        return self.edge_space, self.batch_edge_space

    def __repr__(self) -> str:
        return f"Graph({self.node_space}, {self.edge_space})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Graph)
            and self.node_space == other.node_space
            and self.edge_space == other.edge_space
        )


def _sample_batch(space: Space[Any], n: int, kind: arguments.MaskKind, mask: Any) -> Any:
    sample = batch_space(space, n).sample(**{kind: mask})
    # The batch drew from a copy of the generator: move the original on for the next sample.
    space.np_random.random()
    return sample


def _are_links(links: Any, num_edges: int, num_nodes: int) -> bool:
    return (
        is_array(links)
        and np.issubdtype(links.dtype, np.integer)
        and links.shape == (num_edges, 2)
        and bool(np.all((links >= 0) & (links < num_nodes)))
    )


@create_empty_array.register(Graph)
def _empty_graphs(space: Graph, n: int = 1, fn: Allocate = np.zeros) -> tuple[GraphInstance, ...]:
    return tuple(_empty_graph(space, fn) for _ in range(n))


def _empty_graph(space: Graph, fn: Allocate) -> GraphInstance:
    nodes = create_empty_array(space.node_space, 1, fn)
    if space.edge_space is None:
        return GraphInstance(nodes, None, None)
    edges = create_empty_array(space.edge_space, 1, fn)
    return GraphInstance(nodes, edges, fn((1, 2), dtype=np.int64))
