// The pod that deletes the files of a released volume, as upstream makes it.

import type { PersistentVolume, Pod, Volume } from '#api/groups/core/v1/index.ts';
import type { Immutable, New } from '#api/machinery/meta/v1/index.ts';
import { tryParseQuantity } from '#machinery/text/quantity.ts';

/** How volumes of one kind are recycled. */
export interface RecyclerOptions {
  /** The pod, whose first volume becomes the volume to recycle. Default: DEFAULT_TEMPLATE. */
  readonly template?: New<Pod>;
  /** The least time that the pod may take. Default: 300 s for NFS, 60 s for hostPath. */
  readonly minimumTimeoutSeconds?: number;
  /** The time that it may take per GiB of capacity, if that is more. Default: 30 s. */
  readonly timeoutIncrementSeconds?: number;
}

export interface RecyclerSettings {
  readonly nfs?: RecyclerOptions;
  /** Such a pod runs on any node, so that this is of use on clusters of one node only. */
  readonly hostPath?: RecyclerOptions;
}

/** Upstream's template (NewPersistentVolumeRecyclerPodTemplate in pkg/volume). */
export const DEFAULT_TEMPLATE: New<Pod> = {
  metadata: { namespace: 'default' },
  spec: {
    restartPolicy: 'Never',
    volumes: [{ name: 'vol' }],
    containers: [
      {
        name: 'pv-recycler',
        image: 'registry.k8s.io/build-image/debian-base:bookworm-v1.0.6',
        command: ['/bin/sh'],
        args: [
          '-c',
          'test -e /scrub && find /scrub -mindepth 1 -delete && test -z "$(ls -A /scrub)" || exit 1',
        ],
        volumeMounts: [{ name: 'vol', mountPath: '/scrub' }],
      },
    ],
  },
};

const NAME = 'recycler-for-';

const MINIMUM_SECONDS = { nfs: 300, hostPath: 60 };
const INCREMENT_SECONDS = 30;
const GIB = 1024 ** 3;

/**
 * Returns the pod that recycles the volume. Its name is that of the volume: at most one pod recycles
 * a volume, whichever process started it. Undefined: volumes of this kind cannot be recycled.
 */
export function recyclerPod(
  volume: Immutable<PersistentVolume>,
  settings: RecyclerSettings,
): New<Pod> | undefined {
  const { nfs, hostPath } = volume.spec;
  if (nfs !== undefined) {
    const source = { nfs: { server: nfs.server, path: nfs.path } };
    return podFor(volume, 'nfs', source, settings);
  }
  if (hostPath === undefined) return undefined;
  return podFor(volume, 'hostPath', { hostPath: { path: hostPath.path } }, settings);
}

function podFor(
  volume: Immutable<PersistentVolume>,
  kind: keyof RecyclerSettings,
  source: New<Omit<Volume, 'name'>>,
  settings: RecyclerSettings,
): New<Pod> {
  const {
    template = DEFAULT_TEMPLATE,
    minimumTimeoutSeconds = MINIMUM_SECONDS[kind],
    timeoutIncrementSeconds = INCREMENT_SECONDS,
  } = settings[kind] ?? {};
  const { generateName: _, ...metadata } = template.metadata ?? {};
  const [first, ...others] = template.spec?.volumes ?? [];
  return {
    ...template,
    metadata: { ...metadata, name: `${NAME}${volume.metadata.name}` },
    spec: {
      ...template.spec,
      activeDeadlineSeconds: Math.max(
        minimumTimeoutSeconds,
        wholeGibibytes(volume) * timeoutIncrementSeconds,
      ),
      volumes: [{ name: first?.name, ...source }, ...others],
    },
  };
}

/** Returns the name of the volume that the pod may recycle, by the pod's name. */
export function recycledVolume({ metadata: { name } }: Immutable<Pod>): string | undefined {
  return name.startsWith(NAME) ? name.slice(NAME.length) : undefined;
}

/** Returns the volume's capacity in GiB, rounded down. */
function wholeGibibytes({ spec }: Immutable<PersistentVolume>): number {
  const capacity = tryParseQuantity(spec.capacity?.storage ?? '0');
  return capacity === undefined ? 0 : Math.floor(capacity.value() / GIB);
}
