// The resource componentstatuses (deprecated), which is not stored. Each request checks the
// components: the store directly, and the controller manager and the scheduler through
// `componentHealth`.

import { type ComponentStatus, componentStatuses } from '#api/groups/core/v1/index.ts';
import type * as core from '#api/groups/core/v1/index.ts';
import { decodeObject } from '#api/machinery/codec/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { allSchemas } from '#api/all-schemas.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { errorMessage } from '#machinery/error-message.ts';
import type { Storage } from '#storage/interface.ts';
import { defineVirtualKind } from '#apiserver/catalog/define-kind.ts';
import { metadataFields } from '#apiserver/registry/selectable-fields.ts';
import type { Rest } from '#apiserver/registry/rest.ts';
import { FreshObject } from '#apiserver/registry/encoded-object.ts';
import { NAME, column } from '#apiserver/tables/columns.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';

/**
 * Checks the health of a component. Rejects with the reason if it is unhealthy. A check must settle
 * in bounded time, even if the component does not respond.
 */
export type ComponentCheck = () => Promise<void>;

/** Errors have the singular, as upstream's. */
const NAMED_IN_ERRORS = { group: '', resource: 'componentstatus' };

/** The components besides the store, by upstream's names. */
const CHECKED_COMPONENTS = ['controller-manager', 'scheduler'] as const;
export type ComponentHealth = Readonly<Record<(typeof CHECKED_COMPONENTS)[number], ComponentCheck>>;

/** A key that is never written. The check only shows whether the store responds. */
const PROBE = '/registry/health';

type Condition = NonNullable<ComponentStatus['conditions']>[number];

export interface ComponentStatusServices {
  readonly storage: Storage;
  /** The health checks. Absent: the state of the components besides the store is unknown. */
  readonly componentHealth?: ComponentHealth;
}

function componentStatusRest({ storage, componentHealth }: ComponentStatusServices): Rest {
  const checks = new Map<string, ComponentCheck | undefined>([
    ...CHECKED_COMPONENTS.map((name) => [name, componentHealth?.[name]] as const),
    ['etcd-0', async () => void (await storage.get(PROBE))],
  ]);

  async function statusOf(name: string): Promise<ComponentStatus> {
    const componentStatus = {
      apiVersion: 'v1',
      kind: 'ComponentStatus',
      metadata: { name },
      conditions: [await conditionOf(checks.get(name))],
    };
    return decodeObject<ComponentStatus>(
      allSchemas.message('core/v1.ComponentStatus'),
      componentStatus,
    ).object;
  }

  return {
    get: async (_context, name) => {
      if (!checks.has(name)) throw apierrors.notFound(NAMED_IN_ERRORS, name);
      return new FreshObject(await statusOf(name));
    },
    list: async (_context, { selection }) => {
      const statuses = await Promise.all([...checks.keys()].map(statusOf));
      const items = statuses
        .filter((object) => selection.matches({ object: () => object }, metadataFields))
        .map((object) => new FreshObject(object));
      return { items, resourceVersion: '' };
    },
  };
}

async function conditionOf(check: ComponentCheck | undefined): Promise<Condition> {
  if (check === undefined) {
    const error = 'this API server does not know how to reach the component';
    return { type: 'Healthy', status: 'Unknown', message: '', error };
  }
  try {
    await check();
    return { type: 'Healthy', status: 'True', message: 'ok' };
  } catch (error) {
    return { type: 'Healthy', status: 'False', message: '', error: errorMessage(error) };
  }
}

const componentStatusTable: TableConvertor<Immutable<core.ComponentStatus>> = {
  columns: [
    NAME,
    column('Status', 'Whether the component is healthy.'),
    column('Message', 'The result of the health check.'),
    column('Error', 'The error of the health check.'),
  ],
  cells: ({ metadata, conditions }) => {
    const healthy = conditions?.find(({ type }) => type === 'Healthy');
    const status =
      healthy === undefined ? 'Unknown' : healthy.status === 'True' ? 'Healthy' : 'Unhealthy';
    return [metadata.name, status, healthy?.message ?? '', healthy?.error ?? ''];
  },
};

export const componentStatusKind = defineVirtualKind<ComponentStatusServices>({
  type: componentStatuses,
  table: componentStatusTable,
  deprecation: 'v1 ComponentStatus is deprecated in v1.19+',
  rest: componentStatusRest,
});
