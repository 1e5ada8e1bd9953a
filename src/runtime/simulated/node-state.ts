// The state of the runtime of one simulated node at one moment.

import type { AddressPool } from '../address-pool.ts';
import type { ImagesState } from '../named-images.ts';
import type { ContainerRecord, SandboxRecord } from '../records.ts';
import type { ContainerState } from './container.ts';
import { type DirectoryNode, NodeCopier } from './shell/file-system.ts';

export interface NodeContent {
  readonly sandboxes: readonly SandboxRecord[];
  readonly containers: readonly {
    readonly record: ContainerRecord;
    readonly state: ContainerState;
  }[];
  /** By sandbox, then by the path on the host. */
  readonly volumes: Map<string, Map<string, DirectoryNode>>;
  readonly images: ImagesState;
  readonly addresses: AddressPool;
  readonly podCidr: string;
  readonly awaitsPodCidr: boolean;
}

/**
 * Costs nothing while the runtime that it was taken from stays as it is. That runtime has the state
 * copied (`keep`) before its next change. Any number of runtimes can be made from one state.
 */
export class NodeState {
  #read: (() => NodeContent) | undefined;
  #kept: NodeContent | undefined;

  /** `read`: returns the present state, which is copied at once. */
  constructor(read: () => NodeContent) {
    this.#read = read;
  }

  /** The runtime is about to change. */
  keep(): void {
    if (this.#read !== undefined) this.#kept = copyOf(this.#read());
    this.#read = undefined;
  }

  /** Returns a copy of the state, which is the caller's own. */
  content(): NodeContent {
    return copyOf(this.#kept ?? (this.#read as () => NodeContent)());
  }
}

function copyOf(content: NodeContent): NodeContent {
  const copier = new NodeCopier();
  const volumes = new Map<string, Map<string, DirectoryNode>>();
  for (const [sandbox, directories] of content.volumes) {
    const copies = new Map<string, DirectoryNode>();
    for (const [path, directory] of directories) copies.set(path, copier.copy(directory));
    volumes.set(sandbox, copies);
  }
  return {
    ...content,
    sandboxes: content.sandboxes.map((record) => ({ ...record })),
    containers: content.containers.map(({ record, state }) => ({
      record: { ...record },
      state: {
        ...state,
        log: state.log.fork(),
        files: state.files && copier.copyState(state.files),
      },
    })),
    volumes,
    addresses: content.addresses.clone(),
  };
}
