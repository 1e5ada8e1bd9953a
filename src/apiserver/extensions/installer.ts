// Installs the kinds of each definition in the catalog as long as its names are accepted.
// DefinitionFollower provides the definitions.
//
// For each definition, its kinds, a few small values, and a reference to its stored bytes stay in
// memory. Schemas are read from the bytes when they are needed. A change of the spec or of the
// accepted names replaces the kinds, which ends watches, as upstream. Other changes keep the
// stores: only the kinds' visibility and verbs follow the conditions.

import { decodeFromStorage } from '#api/machinery/codec/index.ts';
import type { ObjectCodec } from '#api/machinery/codec/object-codec.ts';
import type { Scheme } from '#api/machinery/scheme.ts';
import type { Logger } from '#machinery/log.ts';
import type { KeyValue } from '#storage/interface.ts';
import type { Catalog, Installation } from '../catalog/catalog.ts';
import { typedCodec } from '../catalog/codec.ts';
import type { Kind } from '../catalog/kind.ts';
import { stateOf } from '../registry/encoded-object.ts';
import type { StoreServices } from '../registry/resource-store.ts';
import type { EncodedObject } from '../request.ts';
import type { WebhookClients } from '../webhooks/client/index.ts';
import { converterOf, type ConversionMetrics } from './conversion/index.ts';
import type { DefinitionKeeper } from './definitions.ts';
import {
  type CustomResource,
  type CustomResourceDefinition,
  describeResource,
  servingState,
  type ServingState,
} from './description.ts';
import { customKinds } from './kinds/custom-kinds.ts';
import { scaleCodec } from './kinds/scale-codec.ts';
import { presented } from './kinds/presented.ts';
import { SchemaPool } from './kinds/schema-pool.ts';
import type { RuleTimes } from '#api/machinery/codec/structural/index.ts';
import { definitionFromV1beta1 } from '#api/groups/apiextensions/v1/from-v1beta1.ts';
import type { JSONSchemaProps } from '#api/machinery/codec/structural/json-schema-props.ts';
import { preservingAll } from '#api/machinery/codec/structural/preserve-all.ts';

export interface InstallerConfig extends StoreServices {
  readonly catalog: Catalog;
  readonly scheme: Scheme;
  /** Calls conversion webhooks. */
  readonly webhooks: Pick<WebhookClients, 'call'>;
  readonly conversionMetrics: ConversionMetrics;
  /** Measures validation rules of schemas. */
  readonly ruleTimes: RuleTimes;
}

/** The part of a definition that identifies its installed kinds. */
export interface Described {
  readonly metadata: Pick<CustomResourceDefinition['metadata'], 'name' | 'uid' | 'generation'>;
  readonly status: Pick<CustomResourceDefinition['status'], 'acceptedNames'>;
}

export class CustomResourceInstaller implements DefinitionKeeper {
  readonly #config: InstallerConfig;
  readonly #logger: Logger;
  readonly #pool = new SchemaPool();
  readonly #scaleCodec: ObjectCodec;
  /** Installed definitions by name. */
  readonly #served = new Map<string, ServedDefinition>();

  constructor(config: InstallerConfig) {
    this.#config = config;
    this.#logger = config.logger;
    this.#scaleCodec = scaleCodec(
      typedCodec(config.scheme, { group: 'autoscaling', version: 'v1', kind: 'Scale' }),
    );
  }

  /** Reports whether the installed kinds are those of the current definition. */
  serves(definition: Described): boolean {
    return this.#served.get(definition.metadata.name)?.serves(definition) === true;
  }

  /** Installs the kinds of a definition, or replaces them. Failures are logged. */
  set(definition: CustomResourceDefinition, encoded: EncodedObject): void {
    const { name } = definition.metadata;
    let served = this.#served.get(name);
    if (served === undefined) {
      served = new ServedDefinition(this.#config, this.#pool, this.#scaleCodec);
      this.#served.set(name, served);
    }
    try {
      served.update(definition, encoded);
    } catch (error) {
      this.#logger.error('custom resource definition: cannot be served', { name, err: error });
    }
  }

  delete(name: string): void {
    this.#served.get(name)?.uninstall();
    this.#served.delete(name);
  }
}

/** One definition with its installed kinds. */
class ServedDefinition {
  readonly #config: InstallerConfig;
  readonly #pool: SchemaPool;
  readonly #scaleCodec: ObjectCodec;
  /** Identifies the state of the definition that determines the kinds. */
  #identity = '';
  #kinds: readonly Kind[] | undefined;
  #state: ServingState = { served: false, established: false, terminating: false };
  #installation: Installation | undefined;
  #stored: KeyValue | undefined;

  constructor(config: InstallerConfig, pool: SchemaPool, scale: ObjectCodec) {
    this.#config = config;
    this.#pool = pool;
    this.#scaleCodec = scale;
  }

  /**
   * Installs or replaces the kinds. Throws Error if another kind is already installed in the place
   * of one of them.
   */
  update(definition: CustomResourceDefinition, encoded: EncodedObject): void {
    this.#stored = stateOf(encoded);
    const state = servingState(definition);
    const identity = identityOf(definition);
    const isSame = identity === this.#identity;
    if (isSame && isSameState(state, this.#state)) return;
    this.#identity = identity;
    this.#state = state;
    const resource = state.served ? describeResource(definition) : undefined;
    if (resource === undefined) {
      this.uninstall();
      return;
    }
    if (!isSame) this.#kinds = undefined;
    this.#kinds ??= this.#kindsOf(resource);
    const kinds = presented(this.#kinds, state);
    if (this.#installation === undefined) this.#installation = this.#config.catalog.install(kinds);
    else this.#installation.replace(kinds);
  }

  serves(definition: Described): boolean {
    return (
      this.#kinds !== undefined &&
      this.#installation !== undefined &&
      this.#identity === identityOf(definition)
    );
  }

  uninstall(): void {
    this.#installation?.uninstall();
    this.#installation = undefined;
    // The stores of these kinds are closed.
    this.#kinds = undefined;
  }

  #kindsOf(resource: CustomResource): readonly Kind[] {
    const { webhooks, random, conversionMetrics } = this.#config;
    const kinds = customKinds(resource, {
      ...this.#config,
      pool: this.#pool,
      scaleCodec: this.#scaleCodec,
      fingerprint: this.#identity,
      schemaOf: (version) => this.#schemaOf(version),
      bytesOf: () => this.#stored?.value.length ?? 0,
      converter: converterOf(resource, {
        webhooks,
        random: random.derive(resource.name),
        metrics: conversionMetrics,
      }),
      isTerminating: () => this.#state.terminating,
    });
    return kinds.map((kind) =>
      this.#isShadowed(kind) ? { ...kind, visibility: 'internal' } : kind,
    );
  }

  /**
   * Reports whether the server has kinds of its own in the group version. They are all that clients
   * see of it, as upstream, whose servers of custom resources come last.
   */
  #isShadowed({ type: { group, version } }: Kind): boolean {
    const index = this.#config.catalog.snapshot().group(group)?.version(version);
    return index?.hasTypedKind === true;
  }

  #schemaOf(version: string): JSONSchemaProps | undefined {
    const { value, modRevision } = this.#stored!;
    const stored = decodeFromStorage<CustomResourceDefinition>(value, modRevision);
    const isOld = stored.apiVersion === 'apiextensions.k8s.io/v1beta1';
    const { spec } = (
      isOld ? definitionFromV1beta1({ ...stored }) : stored
    ) as CustomResourceDefinition;
    const found = spec.versions.find(({ name }) => name === version)?.schema?.openAPIV3Schema;
    const schema = found as JSONSchemaProps | undefined;
    return schema !== undefined && spec.preserveUnknownFields === true
      ? preservingAll(schema)
      : schema;
  }
}

/**
 * Returns the identity of a definition's state. The generation covers the spec, but not the
 * accepted names.
 */
function identityOf({ metadata, status }: Described): string {
  return JSON.stringify([metadata.uid, metadata.generation, status.acceptedNames]);
}

function isSameState(a: ServingState, b: ServingState): boolean {
  return (
    a.served === b.served && a.established === b.established && a.terminating === b.terminating
  );
}
