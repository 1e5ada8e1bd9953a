// Controller revisions.

import type * as apps from '#api/groups/apps/v1/index.ts';
import { validateControllerRevision, validateControllerRevisionUpdate } from '#api/groups/apps/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';

export type ControllerRevision = Immutable<apps.ControllerRevision>;

export const controllerRevisionStrategy: ResourceStrategy<ControllerRevision> = {
  checksNameOnUpdate: true,
  validate: (revision) => validateControllerRevision(revision),
  validateUpdate: (revision, old) => validateControllerRevisionUpdate(revision, old),
};
