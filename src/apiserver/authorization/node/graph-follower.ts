// Keeps the node graph of a running cluster up to date.

import {
  type PersistentVolume,
  persistentVolumes,
  type Pod,
  pods,
} from '#api/groups/core/v1/index.ts';
import { decodeWithoutStatus } from '#api/machinery/codec/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import { type ResourceSlice, resourceSlices } from '#api/groups/resource/v1/index.ts';
import { type VolumeAttachment, volumeAttachments } from '#api/groups/storage/v1/index.ts';
import {
  decodeStateOutline,
  Follower,
  type FollowerConfig,
  type Keeper,
} from '#apiserver/catalog/follow.ts';
import { stateOf } from '#apiserver/registry/encoded-object.ts';
import type { EncodedObject } from '#apiserver/request.ts';
import { NodeGraph } from './graph.ts';

/** So many pods take about 10 ms. */
const OBJECTS_PER_TURN = 500;

/** The fields of a pod's status that have references. */
const STATUS_FIELDS = ['resourceClaimStatuses', 'extendedResourceClaimStatus'];

function decodePodOutline(encoded: EncodedObject): KubeObject {
  return decodeWithoutStatus<KubeObject>(stateOf(encoded).value, STATUS_FIELDS);
}

export class NodeGraphFollower {
  readonly graph = new NodeGraph();
  readonly #follower: Follower;

  constructor(config: FollowerConfig) {
    this.#follower = new Follower(config);
  }

  /** Resolves when all existing objects are in the graph. Rejects if the store cannot be read. */
  async start(): Promise<void> {
    const { graph } = this;
    const kept: readonly (readonly [
      { readonly group: string; readonly resource: string },
      Keeper,
    ])[] = [
      [
        pods,
        {
          set: (pod) => graph.setPod(pod as Immutable<Pod>),
          delete: (key) => graph.deletePod(key),
        },
      ],
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
    await Promise.all(
      kept.map(([type, keeper]) =>
        this.#follower.follow(type.group, type.resource, keeper, {
          // The graph reads references and names, no numbers and no owners of fields.
          decodeInitial: type === pods ? decodePodOutline : decodeStateOutline,
          objectsPerTurn: OBJECTS_PER_TURN,
        }),
      ),
    );
  }

  stop(): void {
    this.#follower.stop();
  }
}
