// The resource persistentvolumes.

import { persistentVolumes } from '#api/groups/core/v1/index.ts';
import type * as core from '#api/groups/core/v1/index.ts';
import {
  validatePersistentVolume,
  validatePersistentVolumeUpdate,
} from '#api/groups/core/v1/validation/index.ts';
import { persistentVolumeWarnings } from '#api/groups/core/v1/volume-warnings.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import type { ResourceStrategy, SubresourceStrategy } from '#apiserver/registry/strategy.ts';
import { formatTime } from '#machinery/text/time.ts';
import { persistentVolumeTable } from './volume-tables.ts';

type PersistentVolume = Immutable<core.PersistentVolume>;

const persistentVolumeStrategy: ResourceStrategy<PersistentVolume> = {
  checksNameOnUpdate: true,
  returnDeletedObject: true,
  prepareForCreate: (volume, { now }) => ({
    ...volume,
    status: { phase: 'Pending', lastPhaseTransitionTime: formatTime(now) },
  }),
  validate: (volume) => validatePersistentVolume(volume),
  warningsOnCreate: (volume) => persistentVolumeWarnings(volume),
  prepareForUpdate: (volume, old) => ({ ...volume, status: old.status }),
  validateUpdate: (volume, old) => validatePersistentVolumeUpdate(volume, old),
  warningsOnUpdate: (volume) => persistentVolumeWarnings(volume),
};

/**
 * A client that changes the phase may set the transition time; the default is now. As long as the
 * phase stays, the time stays, too.
 */
const persistentVolumeStatusStrategy: SubresourceStrategy<PersistentVolume> = {
  prepareForUpdate(volume, old, { now }) {
    const { phase, lastPhaseTransitionTime } = volume.status;
    const moved = phase !== old.status.phase;
    const oldTime = old.status.lastPhaseTransitionTime;
    const hasOldTime = lastPhaseTransitionTime === undefined || lastPhaseTransitionTime === oldTime;
    const time = hasOldTime ? (moved ? formatTime(now) : oldTime) : lastPhaseTransitionTime;
    const status = {
      ...volume.status,
      ...(time !== undefined && { lastPhaseTransitionTime: time }),
    };
    return { ...volume, spec: old.spec, status };
  },
  validateUpdate: () => [],
};

export const persistentVolumeKind = defineKind<PersistentVolume>({
  type: persistentVolumes,
  strategy: persistentVolumeStrategy,
  table: persistentVolumeTable,
  subresources: { status: { strategy: persistentVolumeStatusStrategy } },
});
