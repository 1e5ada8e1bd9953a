// Keeps the node graph of a running cluster up to date.

import { type PersistentVolume, persistentVolumes } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { type ResourceSlice, resourceSlices } from '#api/groups/resource/v1/index.ts';
import { type VolumeAttachment, volumeAttachments } from '#api/groups/storage/v1/index.ts';
import {
  decodeStateOutline,
  Follower,
  type FollowerConfig,
  type Keeper,
} from '#apiserver/catalog/follow.ts';
import type { Awaitable } from '#machinery/awaitable.ts';
import { type GraphKind, isOwned, NodeGraph } from './graph.ts';
import { PodsOfNodes } from './pods-of-nodes.ts';

/** So many volumes take about 10 ms. */
const OBJECTS_PER_TURN = 500;

export class NodeGraphFollower {
  readonly #graph = new NodeGraph();
  readonly #pods: PodsOfNodes;
  readonly #follower: Follower;

  constructor(config: FollowerConfig) {
    this.#pods = new PodsOfNodes(config.catalog, this.#graph);
    this.#follower = new Follower(config);
  }

  /**
   * Reports whether the object is connected with the node (NodeGraph). The first question about a
   * node reads its pods. Rejects if the store cannot be read.
   */
  leadsTo(node: string, kind: GraphKind, namespace: string, name: string): Awaitable<boolean> {
    const isConnected = (): boolean => this.#graph.leadsTo(node, kind, namespace, name);
    if (isOwned(kind)) return isConnected();
    return this.#pods.read(node)?.then(isConnected) ?? isConnected();
  }

  /** Resolves when the graph is kept up to date. Rejects if the store cannot be read. */
  async start(): Promise<void> {
    const graph = this.#graph;
    const kept: readonly (readonly [
      { readonly group: string; readonly resource: string },
      Keeper,
    ])[] = [
      [
        persistentVolumes,
        {
          set: (volume) => graph.setVolume(volume as Immutable<PersistentVolume>),
          delete: (name) => graph.deleteVolume(name),
        },
      ],
      [
        volumeAttachments,
        {
          set: (object) => {
            const { metadata, spec } = object as Immutable<VolumeAttachment>;
            graph.setOwned('volumeattachment', metadata.name, spec.nodeName);
          },
          delete: (name) => graph.setOwned('volumeattachment', name, undefined),
        },
      ],
      [
        resourceSlices,
        {
          set: (object) => {
            const { metadata, spec } = object as Immutable<ResourceSlice>;
            graph.setOwned('resourceslice', metadata.name, spec.nodeName);
          },
          delete: (name) => graph.setOwned('resourceslice', name, undefined),
        },
      ],
    ];
    await Promise.all([
      this.#pods.follow(this.#follower),
      ...kept.map(([type, keeper]) =>
        this.#follower.follow(type.group, type.resource, keeper, {
          // The graph reads references and names, no numbers and no owners of fields.
          decodeInitial: decodeStateOutline,
          objectsPerTurn: OBJECTS_PER_TURN,
        }),
      ),
    ]);
  }

  stop(): void {
    this.#follower.stop();
  }
}
