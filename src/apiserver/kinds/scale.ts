// The scale subresource: the number of replicas of any kind, in the common form that autoscalers
// and `kubectl scale` use.

import type * as autoscaling from '#api/groups/autoscaling/v1/index.ts';
import {
  entriesOf,
  parentEntries,
  scaleEntries,
  withEntries,
} from '#api/machinery/managed-fields/index.ts';
import { apiVersionOf } from '#api/machinery/scheme.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { GroupResource } from '#machinery/apierrors.ts';
import * as field from '#machinery/validation/field.ts';
import { since } from '../tables/age.ts';
import { AGE, column } from '../tables/columns.ts';
import type { TableConvertor } from '../tables/table.ts';
import { FreshObject } from '../registry/encoded-object.ts';
import type { StoreServices } from '../registry/resource-store.ts';
import type { EncodedObject } from '../request.ts';
import type { SubresourceFactory } from '../catalog/define-kind.ts';

type Scale = Immutable<autoscaling.Scale>;

/** The access to a kind's fields that scaling needs. */
export interface ScaleAccess<T extends KubeObject> {
  specReplicas(object: T): number | undefined;
  statusReplicas(object: T): number;
  /** Returns the label selector of its pods, as text. */
  selector(object: T): string;
  /** Returns the object with another number of replicas. */
  withReplicas(object: T, replicas: number): T;
}

const scaleTable: TableConvertor = {
  columns: [
    column('Name', 'The name of the scaled object.'),
    { ...column('Desired', 'The wanted number of replicas.'), type: 'integer' },
    { ...column('Available', 'The present number of replicas.'), type: 'integer' },
    AGE,
  ],
  cells: (object, now) => {
    const { metadata, spec, status } = object as Scale;
    const { name, creationTimestamp } = metadata;
    return [name, spec.replicas ?? 0, status.replicas, since(creationTimestamp, now)];
  },
};

/** Returns the Scale of an object. `selector`: the label selector of its pods, as text. */
export function newScale(
  { metadata }: Pick<Immutable<KubeObject>, 'metadata'>,
  replicas: number,
  statusReplicas: number,
  selector: string,
): Scale {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      uid,
      resourceVersion,
      creationTimestamp,
    },
    // Zero is left out, as in upstream's encoding.
    spec: replicas === 0 ? {} : { replicas },
    status: { replicas: statusReplicas, ...(selector !== '' && { selector }) },
  };
}

export function scaleSubresource<T extends KubeObject>(
  access: ScaleAccess<T>,
): SubresourceFactory<T, StoreServices> {
  const scaleOf = (object: T): Scale =>
    newScale(
      object,
      access.specReplicas(object) ?? 0,
      access.statusReplicas(object),
      access.selector(object),
    );
  const encoded = (object: EncodedObject): EncodedObject =>
    new FreshObject(scaleOf(object.object() as T));
  return ({ store }) => ({
    kind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
    table: scaleTable,
    rest: {
      get: async (context, name, options) => encoded(await store.get(context, name, options)),
      async update(context, name, update, options) {
        const { validate } = options;
        const updated = await store.update(
          context,
          name,
          {
            ...(update.preconditions !== undefined && { preconditions: update.preconditions }),
            async apply(current) {
              const object = current as T;
              const owners = entriesOf(object);
              const scale = (await update.apply(
                withEntries(
                  scaleOf(object),
                  scaleEntries(owners, { apiVersion: apiVersionOf(store.type) }),
                ),
              )) as Scale;
              checkScale(scale, object, store.type);
              const replicas = scale.spec.replicas ?? 0;
              const { resourceVersion } = scale.metadata;
              const scaled = access.withReplicas(object, replicas);
              const changed = withEntries(
                scaled,
                parentEntries(owners, entriesOf(scale), { apiVersion: apiVersionOf(store.type) }),
              );
              // The store compares the version, as for any other update.
              return (resourceVersion ?? '') === ''
                ? changed
                : { ...changed, metadata: { ...changed.metadata, resourceVersion } };
            },
          },
          {
            dryRun: options.dryRun,
            fieldManager: options.fieldManager,
            ...(validate !== undefined && {
              validate: (object: unknown, old: unknown) =>
                validate(scaleOf(object as T), old === undefined ? undefined : scaleOf(old as T)),
            }),
          },
        );
        return { object: encoded(updated.object), created: false };
      },
    },
  });
}

function checkScale(scale: Scale, object: KubeObject, { group, resource }: GroupResource): void {
  const replicas = scale.spec.replicas ?? 0;
  if (replicas < 0) {
    throw apierrors.invalid({ group: 'autoscaling', kind: 'Scale' }, scale.metadata.name, [
      field.invalid(field.path('spec', 'replicas'), replicas, 'must be greater than or equal to 0'),
    ]);
  }
  const { name, uid } = object.metadata;
  const { uid: wanted = '' } = scale.metadata;
  if (wanted === '' || wanted === uid) return;
  const why = `Precondition failed: UID in precondition: ${wanted}, UID in object meta: ${uid}`;
  throw apierrors.conflict({ group, resource: `${resource}/scale` }, name, why);
}
