// The resource controllerrevisions.

import { controllerRevisions } from '#api/groups/apps/v1/index.ts';
import type * as apps from '#api/groups/apps/v1/index.ts';
import {
  validateControllerRevision,
  validateControllerRevisionUpdate,
} from '#api/groups/apps/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';
import { since } from '#apiserver/tables/age.ts';
import { AGE, NAME, column } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';

type ControllerRevision = Immutable<apps.ControllerRevision>;

const controllerRevisionStrategy: ResourceStrategy<ControllerRevision> = {
  checksNameOnUpdate: true,
  validate: (revision) => validateControllerRevision(revision),
  validateUpdate: (revision, old) => validateControllerRevisionUpdate(revision, old),
};

export const controllerRevisionTable: TableConvertor<ControllerRevision> = {
  columns: [
    NAME,
    column('Controller', 'The object that the revision belongs to.'),
    column('Revision', 'The number of the revision.'),
    AGE,
  ],
  cells: ({ metadata, revision }, now) => [
    metadata.name,
    controllerOf(metadata.ownerReferences),
    revision,
    since(metadata.creationTimestamp, now),
  ],
};

function controllerOf(
  references: Immutable<apps.ControllerRevision>['metadata']['ownerReferences'],
): string {
  const controller = references?.find((reference) => reference.controller === true);
  if (controller === undefined) return '<none>';
  const { apiVersion, kind, name } = controller;
  const group = apiVersion.includes('/') ? `.${apiVersion.slice(0, apiVersion.indexOf('/'))}` : '';
  return `${kind}${group}`.toLowerCase() + `/${name}`;
}

export const controllerRevisionKind = defineKind<ControllerRevision>({
  type: controllerRevisions,
  strategy: controllerRevisionStrategy,
  table: controllerRevisionTable,
});
