// What differs from one kind to the next. The shared semantics of creating, updating and deleting are in resource-store.ts;
// a strategy fills in the blanks. Strategies decide, they do not act: except for the hooks that say otherwise, they have no
// effects, may be called again after a conflict, and answer a new object instead of changing the one that they are given.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Steps } from '#machinery/turn.ts';
import type { FieldErrorList } from '#machinery/validation/field.ts';
import type { UserInfo } from '../request.ts';

/** Who asks, and where. An ApiRequest is one of these. */
export interface RequestContext {
  readonly user: UserInfo;
  /** '' for cluster-scoped resources and for requests across namespaces. */
  readonly namespace: string;
  readonly signal: AbortSignal;
  /** Texts for `Warning` headers. */
  readonly warnings: string[];
}

/** Of one call, for a strategy. */
export interface StrategyContext {
  readonly request: RequestContext;
  /** Wall-clock time in milliseconds: for timestamps that the strategy sets. */
  readonly now: number;
  readonly dryRun: boolean;
}

/**
 * A resource outside the object (a cluster IP, a port) that is taken before a write and kept or given back after it. One of the
 * two is called, once, and waited for; neither, if nobody knows whether the write has been made. Neither may throw or reject.
 */
export interface Reservation<T> {
  readonly object: T;
  commit(): void | Promise<void>;
  rollback(): void | Promise<void>;
}

export interface CreateStrategy<T extends KubeObject> {
  /**
   * The object as it is to be stored: fields that the user may not set are cleared (status), others filled in. Defaults have
   * been applied, admission has run, metadata is complete.
   */
  prepareForCreate?(object: T, context: StrategyContext): T;
  /** Every problem of the object, metadata excepted (its own rules are checked for all kinds alike). */
  validate(object: T, context: StrategyContext): FieldErrorList;
  /** As `validate`, which is not called then: for rules that may take long. `prior`: the problems of the metadata. */
  validateInSteps?(
    object: T,
    context: StrategyContext,
    prior: FieldErrorList,
  ): Steps<FieldErrorList>;
  warningsOnCreate?(object: T, context: StrategyContext): readonly string[];
  /** Problems of a name, as messages. `prefix`: it is a generateName of the object. Default: a DNS subdomain. */
  validateName?(name: string, prefix: boolean, object: T): readonly string[];
  /** Finalizers may be any qualified names, also without a domain. Default: those without are the server's own. */
  readonly anyFinalizer?: boolean;
  /** An update looks at metadata.generateName as a creation does. Default: it only must be possible in a path. */
  readonly checksNameOnUpdate?: boolean;
  /** Has effects: called before validation. What a dry run reserves is always given back. */
  reserveForCreate?(object: T, context: StrategyContext): Promise<Reservation<T>>;
}

export interface UpdateStrategy<T extends KubeObject> {
  /** Fields that this call may not change are taken from `old`. */
  prepareForUpdate?(object: T, old: T, context: StrategyContext): T;
  validateUpdate(object: T, old: T, context: StrategyContext): FieldErrorList;
  /** As `validateUpdate`, which is not called then. See `validateInSteps`. */
  validateUpdateInSteps?(
    object: T,
    old: T,
    context: StrategyContext,
    prior: FieldErrorList,
  ): Steps<FieldErrorList>;
  warningsOnUpdate?(object: T, old: T, context: StrategyContext): readonly string[];
  /** PUT of a name that does not exist creates it. Default: false. */
  readonly allowCreateOnUpdate?: boolean;
  /** PUT without resourceVersion overwrites whatever is there. Default: true. */
  readonly allowUnconditionalUpdate?: boolean;
  /**
   * Paths of the fields that a call may not change, for managed fields: nobody comes to own them through it. Default: `status`
   * for a resource that has a status subresource, `spec` for that subresource.
   */
  readonly resetFields?: readonly (readonly string[])[];
  /** Has effects, as reserveForCreate. */
  reserveForUpdate?(object: T, old: T, context: StrategyContext): Promise<Reservation<T>>;
}

export interface DeleteStrategy<T extends KubeObject> {
  /** Throws StatusError if the object may not be deleted now. */
  validateDelete?(object: T, context: StrategyContext): void;
  /**
   * Seconds that the object stays, terminating, before it goes (0: at once, but through the marked state; undefined: no
   * graceful deletion). `requested` is what the client asked for, if it did. Default: no graceful deletion.
   */
  gracePeriodSeconds?(object: T, requested: number | undefined): number | undefined;
  /** The object as it is to be stored when its deletion begins but cannot be finished yet (namespaces: status.phase). */
  prepareForDelete?(object: T, context: StrategyContext): T;
  /** Something other than metadata.finalizers keeps the object (namespaces: spec.finalizers). */
  hasPendingFinalizers?(object: T): boolean;
  /** What becomes of dependents if the client does not say. `unsupported`: there are none, whatever it says. Default: background. */
  readonly defaultGarbageCollection?: 'background' | 'orphan' | 'unsupported';
  /** A deletion answers the object deleted instead of a Status. */
  readonly returnDeletedObject?: boolean;
  /** Has effects: after the object is gone for good (cluster IPs are given back). It is waited for. Must not throw or reject. */
  afterDelete?(object: T): void | Promise<void>;
}

/** Everything about a kind that the shared code must know. One value per resource, made once. */
export interface ResourceStrategy<T extends KubeObject>
  extends CreateStrategy<T>, UpdateStrategy<T>, DeleteStrategy<T> {
  /**
   * Whether metadata.generation counts changes of the desired state. `true`: it is 1 at creation and grows with each change
   * outside metadata and status; a function decides by itself. Default: false (no generation).
   */
  readonly generation?: boolean | ((object: T, old: T) => boolean);
  /** Where it begins. 0: an object that has never changed has none. Default: 1. */
  readonly initialGeneration?: 0 | 1;
  /** How long an object lives by itself (events). Absent: for ever. */
  ttlMs?(object: T): number | undefined;
}

/**
 * A strategy for a subresource that is a view of the whole object (status, approval, finalize …): the same store, other
 * rules. What it leaves out (names, deletion) is the main strategy's.
 */
export interface SubresourceStrategy<T extends KubeObject> extends UpdateStrategy<T> {
  /** As the main strategy's; by default a subresource never changes the generation. */
  readonly generation?: (object: T, old: T) => boolean;
}
