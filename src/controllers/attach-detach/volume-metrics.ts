// The metrics about volumes, under upstream's names.

import type { Node } from '#api/groups/core/v1/index.ts';
import type { VolumeAttachment } from '#api/groups/storage/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import {
  type Counter,
  countSamples,
  type Family,
  type Instruments,
} from '#machinery/metrics/instruments.ts';
import { needsVolumes, pluginOf } from './attachment.ts';
import { type VolumeUses, volumeOf } from './volume-uses.ts';

export interface VolumeMetricsConfig {
  readonly instruments: Instruments;
  readonly nodes: SharedInformer<Immutable<Node>>;
  readonly attachments: SharedInformer<Immutable<VolumeAttachment>>;
  readonly uses: VolumeUses;
}

type Labels = readonly (readonly [string, string])[];

/** Registers the metrics. Returns the counter of forced detaches. */
export function registerVolumeMetrics(config: VolumeMetricsConfig): Family<Counter> {
  const { instruments } = config;
  instruments.gauge(
    {
      name: 'storage_count_attachable_volumes_in_use',
      help: 'Volumes in use.',
      labels: ['node', 'volume_plugin'],
    },
    () => countSamples(volumesInUse(config)),
  );
  instruments.gauge(
    {
      name: 'attachdetach_controller_total_volumes',
      help: 'Volumes that are wanted, and that are attached.',
      labels: ['plugin_name', 'state'],
    },
    () => countSamples(wantedAndAttached(config)),
  );
  return instruments.counter({
    name: 'attach_detach_controller_attachdetach_controller_forced_detaches',
    help: 'Volumes taken from nodes that had not said that they are not mounted any more.',
    labels: ['reason'],
  });
}

/** Returns the node and the plugin of each use. */
function volumesInUse({ uses }: VolumeMetricsConfig): Labels {
  return uses
    .pods()
    .flatMap((pod) =>
      pod.spec.nodeName === undefined
        ? []
        : uses.volumesOf(pod).map((volume) => [pod.spec.nodeName ?? '', pluginOf(volume)] as const),
    );
}

/** Returns the plugin and the state of each volume that is wanted at a node or attached to it. */
function wantedAndAttached({ nodes, attachments, uses }: VolumeMetricsConfig): Labels {
  const wanted = uses.pods().flatMap((pod) => {
    const node = nodes.lister.get('', pod.spec.nodeName ?? '');
    if (node === undefined || !needsVolumes(pod, node)) return [];
    return uses
      .volumesOf(pod)
      .filter((volume) => uses.needsAttaching(volume))
      .map((volume) => `${node.metadata.name}/${volume.metadata.name}`);
  });
  const attached = attachments.lister.list().filter(({ status }) => status.attached);
  const plugin = (name: string): string => {
    const volume = uses.volumeOrRemoved(name);
    return volume === undefined ? 'N/A' : pluginOf(volume);
  };
  return [
    ...[...new Set(wanted)].map(
      (key) => [plugin(key.slice(key.indexOf('/') + 1)), 'desired_state_of_world'] as const,
    ),
    ...attached.map(
      (attachment) => [plugin(volumeOf(attachment)), 'actual_state_of_world'] as const,
    ),
  ];
}
