// The differences between kinds. resource-store.ts has the shared semantics of creating, updating
// and deleting, and calls the strategy of the kind. Strategies are pure unless a hook says
// otherwise: they have no effects, may be called again after a conflict, and return a new object
// instead of modifying their argument.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import type { Steps } from '#machinery/turn.ts';
import type { FieldErrorList } from '#machinery/validation/field.ts';
import type { RequestAudit, UserInfo } from '../request.ts';

/** The user and namespace of a request. An ApiRequest has these members. */
export interface RequestContext {
  readonly user: UserInfo;
  /** The namespace; '' for cluster-scoped resources and for requests across namespaces. */
  readonly namespace: string;
  readonly signal: AbortSignal;
  /** The verb of the request. Absent: the server itself writes. */
  readonly verb?: string;
  /** The texts of `Warning` headers. */
  readonly warnings: string[];
  /** Takes annotations for the audit log. Absent: the request is not recorded. */
  readonly audit?: Pick<RequestAudit, 'annotate'>;
}

/** The context of one call of a strategy. */
export interface StrategyContext {
  readonly request: RequestContext;
  /** The wall-clock time in ms, for timestamps that the strategy sets. */
  readonly now: number;
  readonly dryRun: boolean;
}

/**
 * A resource outside of the object (a cluster IP, a port) that is reserved before a write.
 * Afterwards the store calls and awaits either `commit` or `rollback`, once; neither of them if the
 * outcome of the write is unknown. They must not throw or reject.
 */
export interface Reservation<T> {
  readonly object: T;
  commit(): void | Promise<void>;
  rollback(): void | Promise<void>;
}

export interface CreateStrategy<T extends KubeObject> {
  /**
   * Returns the object to store: fields that the user may not set are cleared (status), others
   * filled in. Defaults have been applied, admission has run, metadata is complete.
   */
  prepareForCreate?(object: T, context: StrategyContext): T;
  /**
   * Returns every problem of the object, except for metadata, whose rules are the same for all
   * kinds.
   */
  validate(object: T, context: StrategyContext): FieldErrorList;
  /** Replaces `validate` for rules that may take long. `prior`: the problems of the metadata. */
  validateInSteps?(
    object: T,
    context: StrategyContext,
    prior: FieldErrorList,
  ): Steps<FieldErrorList>;
  warningsOnCreate?(object: T, context: StrategyContext): readonly string[];
  /**
   * Returns the problems of a name, as messages. `prefix`: the name is a generateName of the
   * object. Default: a DNS subdomain.
   */
  validateName?(name: string, prefix: boolean, object: T): readonly string[];
  /**
   * Finalizers may be any qualified names, also without a domain. Default: names without a domain
   * must be the server's own.
   */
  readonly anyFinalizer?: boolean;
  /**
   * An update validates metadata.generateName like a creation, too. Default: it only must be a
   * valid path segment.
   */
  readonly checksNameOnUpdate?: boolean;
  /**
   * Reserves resources, which is an effect. Called before validation. Reservations of a dry run are
   * always rolled back.
   */
  reserveForCreate?(object: T, context: StrategyContext): Promise<Reservation<T>>;
}

export interface UpdateStrategy<T extends KubeObject> {
  /** Returns the object to store, with the fields of `old` that this call may not change. */
  prepareForUpdate?(object: T, old: T, context: StrategyContext): T;
  validateUpdate(object: T, old: T, context: StrategyContext): FieldErrorList;
  /** Replaces `validateUpdate`. See `validateInSteps`. */
  validateUpdateInSteps?(
    object: T,
    old: T,
    context: StrategyContext,
    prior: FieldErrorList,
  ): Steps<FieldErrorList>;
  warningsOnUpdate?(object: T, old: T, context: StrategyContext): readonly string[];
  /** Whether PUT of a name that does not exist creates it. Default: false. */
  readonly allowCreateOnUpdate?: boolean;
  /** Whether PUT without a resourceVersion overwrites any state. Default: true. */
  readonly allowUnconditionalUpdate?: boolean;
  /**
   * The paths of fields that a call may not change, so no manager owns them through it. Default:
   * `status` for a resource with a status subresource, `spec` for that subresource.
   */
  readonly resetFields?: readonly (readonly string[])[];
  /** Reserves resources, like reserveForCreate. */
  reserveForUpdate?(object: T, old: T, context: StrategyContext): Promise<Reservation<T>>;
}

/** The policy for dependents that the client of a deletion requests. */
export interface DependentsPolicy {
  readonly propagationPolicy?: string;
  readonly orphanDependents?: boolean;
}

export interface DeleteStrategy<T extends KubeObject> {
  /** Returns warnings for a deletion, or for one of a collection. */
  warningsOnDelete?(policy: DependentsPolicy): readonly string[];
  /**
   * Throws StatusError if the object of this name may not be deleted by its name. Not called for the
   * objects of a collection, as upstream.
   */
  validateDelete?(name: string): void;
  /**
   * Returns the seconds that the object stays, terminating, before it is deleted. 0: it is deleted
   * at once, but through the marked state. Undefined: no graceful deletion. `requested`: the
   * client's value. Default: no graceful deletion.
   */
  gracePeriodSeconds?(object: T, requested: number | undefined): number | undefined;
  /**
   * Returns the object to store when its deletion starts but cannot be completed yet (namespaces:
   * status.phase).
   */
  prepareForDelete?(object: T, context: StrategyContext): T;
  /**
   * Reports whether something other than metadata.finalizers keeps the object (namespaces:
   * spec.finalizers).
   */
  hasPendingFinalizers?(object: T): boolean;
  /**
   * The default policy for dependents. `unsupported`: there are none, whatever the client requests.
   * Default: background.
   */
  readonly defaultGarbageCollection?: 'background' | 'orphan' | 'unsupported';
  /** See StoreServices. */
  readonly listsKeepLimit?: boolean;
  /** A deletion returns the deleted object instead of a Status. */
  readonly returnDeletedObject?: boolean;
  /**
   * Called after the object is deleted, for effects (releasing cluster IPs). It is awaited. Must
   * not throw or reject.
   */
  afterDelete?(object: T): void | Promise<void>;
}

/** The complete strategy of a kind. There is one value per resource. */
export interface ResourceStrategy<T extends KubeObject>
  extends CreateStrategy<T>, UpdateStrategy<T>, DeleteStrategy<T> {
  /**
   * Whether metadata.generation counts changes of the desired state. `true`: it is 1 at creation,
   * and grows with each change outside of metadata and status. A function decides itself. Default:
   * false (no generation).
   */
  readonly generation?: boolean | ((object: T, old: T) => boolean);
  /** The initial generation. 0: an object that has never changed has none. Default: 1. */
  readonly initialGeneration?: 0 | 1;
  /** Returns the time to live of an object in ms (events). Absent: it does not expire. */
  ttlMs?(object: T): number | undefined;
}

/**
 * A strategy for a subresource that is a view of the whole object (status, approval, finalize …):
 * the same store with other rules. Missing parts (names, deletion) are the main strategy's.
 */
export interface SubresourceStrategy<T extends KubeObject> extends UpdateStrategy<T> {
  /** Reports whether the generation changes. By default a subresource never changes it. */
  readonly generation?: (object: T, old: T) => boolean;
}
