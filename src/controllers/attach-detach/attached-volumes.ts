// Reports in each node's status which volumes are attached; the kubelet mounts no volume before
// that.

import { type Node, nodes } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import { semanticEqual } from '#machinery/deep.ts';
import type { ControllerConfig } from '../controller.ts';
import { isManaged, uniqueName } from './attachment.ts';
import { type VolumeUses, volumeOf } from './volume-uses.ts';

type ReadNode = Immutable<Node>;

export interface AttachedVolumesConfig {
  readonly client: ControllerConfig['client'];
  readonly nodes: SharedInformer<ReadNode>;
  readonly uses: VolumeUses;
  /** Reports whether the volume of the key 'node/volume' is about to be detached. */
  readonly isDetaching: (key: string) => boolean;
}

export class AttachedVolumes {
  readonly #config: AttachedVolumesConfig;

  constructor(config: AttachedVolumesConfig) {
    this.#config = config;
  }

  /** Writes the attached volumes to the node's status. Rejects with StatusError. */
  async update(nodeName: string, signal: AbortSignal): Promise<void> {
    const cached = this.#config.nodes.lister.get('', nodeName);
    if (cached === undefined || !isManaged(cached)) return;
    if (semanticEqual(cached.status.volumesAttached ?? [], this.#attachedTo(nodeName, cached)))
      return;
    const client = this.#config.client.resource(nodes);
    const node = await client.get(nodeName, { signal });
    const volumesAttached = this.#attachedTo(nodeName, node);
    if (semanticEqual(node.status.volumesAttached ?? [], volumesAttached)) return;
    // The kubelet writes this status, too, so the patch names the version that was read.
    const { resourceVersion } = node.metadata;
    const patch = {
      metadata: { resourceVersion },
      status: { volumesAttached: volumesAttached.length > 0 ? volumesAttached : null },
    };
    await client.patch(nodeName, 'application/merge-patch+json', patch, {
      subresource: 'status',
      signal,
    });
  }

  #attachedTo(
    nodeName: string,
    { status }: ReadNode,
  ): readonly { readonly name: string; readonly devicePath: string }[] {
    const { uses, isDetaching } = this.#config;
    const attached = new Set<string>();
    for (const attachment of uses.attachmentsAt(nodeName)) {
      const { metadata, status: state } = attachment;
      const volumeName = volumeOf(attachment);
      const volume = uses.volumeOrRemoved(volumeName);
      const unique = volume === undefined ? undefined : uniqueName(volume);
      const stays =
        state.attached &&
        metadata.deletionTimestamp === undefined &&
        !isDetaching(`${nodeName}/${volumeName}`);
      if (unique !== undefined && stays) attached.add(unique);
    }
    // Keeps the present order, and entries that belong to other attachers than CSI drivers.
    const present = (status.volumesAttached ?? []).filter(
      ({ name }) => attached.has(name) || !name.startsWith('kubernetes.io/csi/'),
    );
    const names = new Set(present.map(({ name }) => name));
    const added = [...attached].filter((name) => !names.has(name)).sort();
    return [...present, ...added.map((name) => ({ name, devicePath: '' }))];
  }
}
