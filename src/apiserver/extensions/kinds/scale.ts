// The scale subresource of a custom kind. The definition has the paths of the replicas in an
// object.

import type * as autoscaling from '#api/groups/autoscaling/v1/index.ts';
import {
  entriesOf,
  parentEntries,
  type ScaledKind,
  scaleEntries,
  withEntries,
} from '#api/machinery/managed-fields/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { ObjectCodec } from '#api/machinery/codec/object-codec.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Subresource } from '#apiserver/catalog/kind.ts';
import { newScale } from '#apiserver/kinds/scale.ts';
import { FreshObject } from '#apiserver/registry/encoded-object.ts';
import type { ObjectUpdate, UpdateOptions } from '#apiserver/registry/rest.ts';
import type { CustomResource, ScalePaths } from '../description.ts';
import type { LazyStore } from './lazy-store.ts';
import {
  namesOfPath,
  NestedFieldError,
  nestedInteger,
  nestedString,
  withNestedField,
} from './nested.ts';
import { scaleTable } from './printer-columns.ts';

type Scale = Immutable<autoscaling.Scale>;

/**
 * The replicas in the Scale of an object without replicas: the smallest int32. A client must not
 * send it back.
 */
const NO_REPLICAS = -2_147_483_648;

export interface CustomScaleConfig {
  readonly resource: CustomResource;
  readonly paths: ScalePaths;
  readonly store: Pick<LazyStore, 'get' | 'update'>;
  /** The version of the resource. */
  readonly version: string;
  readonly codec: ObjectCodec;
}

export function customScale({
  resource,
  paths,
  store,
  version,
  codec,
}: CustomScaleConfig): Omit<Subresource, 'name'> {
  const scale = new ScaleView(paths, replicasOwners(resource, `${resource.group}/${version}`));
  return {
    kind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
    codec,
    table: scaleTable(paths),
    rest: {
      get: async (context, name, options) => {
        const object = (await store.get(context, name, options)).object() as KubeObject;
        return new FreshObject(scale.existing(object));
      },
      async update(context, name, update, options) {
        const { object } = await store.update(
          context,
          name,
          scale.updateOf(update),
          scale.optionsOf(options),
        );
        return { object: new FreshObject(scale.of(object.object() as KubeObject)), created: false };
      },
    },
  };
}

/**
 * Returns the path of the replicas in each version. Owners of a Scale's replicas own that field.
 */
function replicasOwners({ group, versions }: CustomResource, apiVersion: string): ScaledKind {
  const replicas = versions.map(({ name, scale }) => {
    const path =
      scale === undefined
        ? undefined
        : namesOfPath(scale.specReplicasPath).map((each) => `f:${each}`);
    return [`${group}/${name}`, path] as const;
  });
  return { apiVersion, replicas: new Map(replicas) };
}

class ScaleView {
  readonly #paths: ScalePaths;
  readonly #specReplicas: readonly string[];
  readonly #owners: ScaledKind;

  constructor(paths: ScalePaths, owners: ScaledKind) {
    this.#paths = paths;
    this.#specReplicas = namesOfPath(paths.specReplicasPath);
    this.#owners = owners;
  }

  /**
   * Returns the Scale of an object for a read. Throws StatusError (500) if the object has no
   * replicas.
   */
  existing(object: KubeObject): Scale {
    const scale = this.of(object);
    if (this.#replicasOf(object) !== undefined) return scale;
    throw apierrors.internalError(
      new Error(
        `the spec replicas field ${JSON.stringify(this.#paths.specReplicasPath)} does not exist`,
      ),
    );
  }

  /** Returns the Scale of an object. Throws StatusError (500) if a value has the wrong type. */
  of(object: KubeObject): Scale {
    const fields = object as unknown as Readonly<Record<string, unknown>>;
    const { statusReplicasPath, labelSelectorPath = '' } = this.#paths;
    const replicas = this.#replicasOf(object) ?? 0;
    const status =
      withStatusErrors(() => nestedInteger(fields, namesOfPath(statusReplicasPath))) ?? 0;
    const selector =
      labelSelectorPath === ''
        ? ''
        : (withStatusErrors(() => nestedString(fields, namesOfPath(labelSelectorPath))) ?? '');
    return newScale(object, replicas, status, selector);
  }

  /** Translates an update of the Scale to an update of its object. */
  updateOf(update: ObjectUpdate): ObjectUpdate {
    return {
      ...(update.preconditions !== undefined && { preconditions: update.preconditions }),
      apply: async (current) => {
        const object = current!;
        const owners = entriesOf(object);
        const old = this.of(object);
        const before =
          this.#replicasOf(object) === undefined
            ? { ...old, spec: { replicas: NO_REPLICAS } }
            : old;
        const scale = (await update.apply(
          withEntries(before, scaleEntries(owners, this.#owners)),
        )) as Scale;
        const { replicas = 0 } = scale.spec;
        if (replicas === NO_REPLICAS) {
          const path = JSON.stringify(this.#paths.specReplicasPath);
          throw apierrors.badRequest(`the spec replicas field ${path} cannot be empty`);
        }
        const scaled = withStatusErrors(() =>
          withNestedField(object, this.#specReplicas, replicas),
        );
        const changed = withEntries(scaled, parentEntries(owners, entriesOf(scale), this.#owners));
        const { resourceVersion = '' } = scale.metadata;
        // The store compares the version, as for any other update.
        return resourceVersion === ''
          ? changed
          : { ...changed, metadata: { ...changed.metadata, resourceVersion } };
      },
    };
  }

  /** Returns options with which admission sees the Scale instead of the object. */
  optionsOf({ dryRun, fieldManager, validate }: UpdateOptions): UpdateOptions {
    return {
      dryRun,
      fieldManager,
      ...(validate !== undefined && {
        validate: (object: unknown, old: unknown) =>
          validate(
            this.of(object as KubeObject),
            old === undefined ? undefined : this.of(old as KubeObject),
          ),
      }),
    };
  }

  #replicasOf(object: KubeObject): number | undefined {
    return withStatusErrors(() =>
      nestedInteger(object as unknown as Readonly<Record<string, unknown>>, this.#specReplicas),
    );
  }
}

function withStatusErrors<T>(value: () => T): T {
  try {
    return value();
  } catch (error) {
    if (!(error instanceof NestedFieldError)) throw error;
    // Upstream's handler returns these errors without a reason.
    throw apierrors.fromStatus({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: error.message,
      code: 500,
    });
  }
}
