// Generated from schema.ts by `npm run generate`. Do not edit.

/** A resource of a group. */
export interface GroupResource {
  /** The API group. */
  group: string;
  /** The resource. */
  resource: string;
}

/** A resource of a group version. */
export interface GroupVersionResource {
  /** The API group. */
  group: string;
  /** The API version. */
  version: string;
  /** The resource. */
  resource: string;
}

/** A kind of a group. */
export interface GroupKind {
  /** The API group. */
  group: string;
  /** The kind. */
  kind: string;
}

/** A kind of a group version. */
export interface GroupVersionKind {
  /** The API group. */
  group: string;
  /** The API version. */
  version: string;
  /** The kind. */
  kind: string;
}

/** A group version. */
export interface GroupVersion {
  /** The API group. */
  group: string;
  /** The API version. */
  version: string;
}

/** The kind and API version of an object. */
export interface TypeMeta {
  /** The kind of object that it is, in CamelCase. */
  kind?: string;
  /** APIVersion defines the API group and version that the object is written in, such as v1 or apps/v1. */
  apiVersion?: string;
}

/** Metadata of every list: the version at which it was read, and where the next page begins. */
export interface ListMeta {
  /** No longer used. */
  selfLink?: string;
  /** The version of the cluster that the list was read at; a watch can begin there. */
  resourceVersion?: string;
  /** Ask for the next page with this token; there is no next page without one. */
  continue?: string;
  /** How many items follow this page, where that is known. */
  remainingItemCount?: number;
  /** The part of the collection that the list has. */
  shardInfo?: ShardInfo;
}

/** The part of a collection that a list has. */
export interface ShardInfo {
  /** The selector of the part. */
  selector: string;
}

/** Metadata of every object: identity, labels, annotations, owners, and the state of its deletion. */
export interface ObjectMeta {
  /** The name of the object, unique among those of its kind in its namespace; it never changes. */
  name: string;
  /** A prefix to which the server adds a random suffix, if no name is given. */
  generateName?: string;
  /** The namespace that the object is in; kinds that belong to the whole cluster have none. */
  namespace?: string;
  /** No longer used. */
  selfLink?: string;
  /** Given by the server: tells this object from any other, past ones of the same name included. */
  uid: string;
  /** Given by the server at every change; an update that names an old one is refused. */
  resourceVersion: string;
  /** Counts the changes of what is wanted. */
  generation?: number;
  /** CreationTimestamp is a timestamp of the moment when the server created the object. */
  creationTimestamp: string;
  /** When the object will be deleted. Set by the server when its deletion is requested. */
  deletionTimestamp?: string;
  /** How long the object is given to end, from the request for its deletion on. */
  deletionGracePeriodSeconds?: number;
  /** Names and values by which objects are selected. */
  labels?: Record<string, string>;
  /** Names and values that tools and people keep with the object; nothing is selected by them. */
  annotations?: Record<string, string>;
  /** The objects that this one belongs to: when all of them are gone, it goes too. */
  ownerReferences?: OwnerReference[];
  /** Finalizers: the object is deleted when the list is empty. Each controller removes its own entry. */
  finalizers?: string[];
  /** The owners of fields, as server-side apply records them. */
  managedFields?: ManagedFieldsEntry[];
}

/** Names an owner of the object, in the same namespace or belonging to the whole cluster. */
export interface OwnerReference {
  /** APIVersion defines the API group and version that the object is written in, such as v1 or apps/v1. */
  apiVersion: string;
  /** The kind of object that it is, in CamelCase. */
  kind: string;
  /** The name of the owner. */
  name: string;
  /** The uid of the owner: another object of the same name is not it. */
  uid: string;
  /** Whether the owner is the one that manages the object; at most one is. */
  controller?: boolean;
  /** Whether an owner that is deleted in the foreground waits for this object to be gone. */
  blockOwnerDeletion?: boolean;
}

/** Options of lists and watches. */
export interface ListOptions extends TypeMeta {
  /** Restricts the objects by labels. */
  labelSelector?: string;
  /** Restricts the objects by fields. */
  fieldSelector?: string;
  /** Whether changes are sent instead of a list. */
  watch?: boolean;
  /** Whether the watch may send bookmarks. */
  allowWatchBookmarks?: boolean;
  /** Which state is read: empty the latest, "0" any, otherwise at least this version. */
  resourceVersion?: string;
  /** How the resourceVersion of a list is meant: Exact or NotOlderThan. */
  resourceVersionMatch?: ResourceVersionMatch;
  /** How long the list or watch may take. */
  timeoutSeconds?: number;
  /** At most so many objects in one response. */
  limit?: number;
  /** Where the next part of a list begins, from the metadata of the last part. */
  continue?: string;
  /** Whether a watch begins with the objects that exist, and a bookmark after them. */
  sendInitialEvents?: boolean;
  /** Restricts the objects to a part of the collection. */
  shardSelector?: string;
}

export type ResourceVersionMatch = 'NotOlderThan' | 'Exact' | (string & {});

/** Options of a get. */
export interface GetOptions extends TypeMeta {
  /** Which state is read: empty the latest, "0" any, otherwise at least this version. */
  resourceVersion?: string;
}

export type DeletionPropagation = 'Orphan' | 'Background' | 'Foreground' | (string & {});

/** How an object is to be deleted. */
export interface DeleteOptions extends TypeMeta {
  /** How long the object is given to end; zero deletes it at once. */
  gracePeriodSeconds?: number;
  /** Preconditions. The deletion is rejected if one does not hold. */
  preconditions?: Preconditions;
  /** No longer used: see propagationPolicy. */
  orphanDependents?: boolean;
  /** Treatment of dependent objects: Orphan, Background or Foreground. */
  propagationPolicy?: DeletionPropagation;
  /** All: check everything and change nothing. */
  dryRun?: string[];
  /** Delete even an object that can no longer be read, finalizers or not. */
  ignoreStoreReadErrorWithClusterBreakingPotential?: boolean;
}

/** Options of a create. */
export interface CreateOptions extends TypeMeta {
  /** All, to do everything but store the result. */
  dryRun?: string[];
  /** The name of the manager of the fields that are changed, at most 128 characters. */
  fieldManager?: string;
  /** Treatment of unknown and duplicate fields: Ignore, Warn or Strict. Default: Warn. */
  fieldValidation?: string;
}

/** Options of a patch. */
export interface PatchOptions extends TypeMeta {
  /** All, to do everything but store the result. */
  dryRun?: string[];
  /** Whether an apply takes over fields of other managers. */
  force?: boolean;
  /** The name of the manager of the fields that are changed, at most 128 characters. */
  fieldManager?: string;
  /** Treatment of unknown and duplicate fields: Ignore, Warn or Strict. Default: Warn. */
  fieldValidation?: string;
}

/** Options of an apply. */
export interface ApplyOptions extends TypeMeta {
  /** All, to do everything but store the result. */
  dryRun?: string[];
  /** Whether fields of other managers are taken over. */
  force: boolean;
  /** The name of the manager of the fields that are changed, at most 128 characters. */
  fieldManager: string;
}

/** Options of an update. */
export interface UpdateOptions extends TypeMeta {
  /** All, to do everything but store the result. */
  dryRun?: string[];
  /** The name of the manager of the fields that are changed, at most 128 characters. */
  fieldManager?: string;
  /** Treatment of unknown and duplicate fields: Ignore, Warn or Strict. Default: Warn. */
  fieldValidation?: string;
}

/** Preconditions of a deletion. */
export interface Preconditions {
  /** The uid that the object must have. */
  uid?: string;
  /** The version that the object must be at. */
  resourceVersion?: string;
}

/** The outcome of a request that answers with no object. */
export interface Status extends TypeMeta {
  /** Metadata of the list. */
  metadata: ListMeta;
  /** Success or Failure. */
  status?: string;
  /** Message for users. */
  message?: string;
  /** Reason in one word, for programs. */
  reason?: StatusReason;
  /** Details of the reason. */
  details?: StatusDetails;
  /** The HTTP status code. */
  code?: number;
}

/** Details of a failure. */
export interface StatusDetails {
  /** The name of the object. */
  name?: string;
  /** The API group of the object. */
  group?: string;
  /** The kind or resource of the object. */
  kind?: string;
  /** The uid of the object. */
  uid?: string;
  /** Every single thing that is wrong. */
  causes?: StatusCause[];
  /** How long to wait before trying again. */
  retryAfterSeconds?: number;
}

export type StatusReason = '' | 'Unauthorized' | 'Forbidden' | 'NotFound' | 'AlreadyExists' | 'Conflict' | 'Gone' | 'Invalid' | 'ServerTimeout' | 'StorageReadError' | 'Timeout' | 'TooManyRequests' | 'BadRequest' | 'MethodNotAllowed' | 'NotAcceptable' | 'RequestEntityTooLarge' | 'UnsupportedMediaType' | 'InternalError' | 'Expired' | 'ServiceUnavailable' | (string & {});

/** One thing that is wrong. */
export interface StatusCause {
  /** Reason in one word, for programs. */
  reason?: CauseType;
  /** Message for users. */
  message?: string;
  /** The field that it is wrong with, such as spec.containers[0].image. */
  field?: string;
}

export type CauseType = 'FieldValueNotFound' | 'FieldValueRequired' | 'FieldValueDuplicate' | 'FieldValueInvalid' | 'FieldValueNotSupported' | 'FieldValueForbidden' | 'FieldValueTooLong' | 'FieldValueTooMany' | 'InternalError' | 'FieldValueTypeInvalid' | 'UnexpectedServerResponse' | 'FieldManagerConflict' | 'ResourceVersionTooLarge' | (string & {});

/** Objects of any kinds. */
export interface List extends TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: ListMeta;
  /** The objects of the list. */
  items: Record<string, unknown>[];
}

/** The versions of the core group. */
export interface APIVersions extends TypeMeta {
  /** The versions. */
  versions: string[];
  /** Addresses of the server, by the addresses of clients. */
  serverAddressByClientCIDRs: ServerAddressByClientCIDR[];
}

/** The API groups. */
export interface APIGroupList extends TypeMeta {
  /** The groups. */
  groups: APIGroup[];
}

/** An API group. */
export interface APIGroup extends TypeMeta {
  /** The name. */
  name: string;
  /** The versions. */
  versions: GroupVersionForDiscovery[];
  /** The version that the server prefers. */
  preferredVersion: GroupVersionForDiscovery;
  /** Addresses of the server, by the addresses of clients. */
  serverAddressByClientCIDRs?: ServerAddressByClientCIDR[];
}

/** The address of the server for some clients. */
export interface ServerAddressByClientCIDR {
  /** The range of the clients. */
  clientCIDR: string;
  /** The address of the server. */
  serverAddress: string;
}

/** A group version. */
export interface GroupVersionForDiscovery {
  /** Group and version, such as apps/v1. */
  groupVersion: string;
  /** The version. */
  version: string;
}

/** One resource of the API. */
export interface APIResource {
  /** The plural name, as in paths. */
  name: string;
  /** The singular name. */
  singularName: string;
  /** Whether its objects are in namespaces. */
  namespaced: boolean;
  /** The group of its kind, where it is another one than that of the list. */
  group?: string;
  /** The version of its kind, where it is another one than that of the list. */
  version?: string;
  /** The kind of object that it is, in CamelCase. */
  kind: string;
  /** Verbs that the resource supports. */
  verbs: Verbs;
  /** Short names for the command line. */
  shortNames?: string[];
  /** Groups of resources that it belongs to, such as all. */
  categories?: string[];
  /** Tells whether the version in which objects are stored has changed. */
  storageVersionHash?: string;
}

export type Verbs = string[];

/** The resources of one group and version. */
export interface APIResourceList extends TypeMeta {
  /** The group and version. */
  groupVersion: string;
  /** The resources, subresources included. */
  resources: APIResource[];
}

/** The paths that the server has. */
export interface RootPaths {
  /** The paths. */
  paths: string[];
}

/** Selects objects by their labels; an empty selector selects all. Every requirement must be met. */
export interface LabelSelector {
  /** Labels that the objects must have, with these values. */
  matchLabels?: Record<string, string>;
  /** Requirements on labels that go beyond equality. */
  matchExpressions?: LabelSelectorRequirement[];
}

/** One requirement on a label. */
export interface LabelSelectorRequirement {
  /** The name of the label. */
  key: string;
  /** How the label is compared: In, NotIn, Exists or DoesNotExist. */
  operator: LabelSelectorOperator;
  /** Values to compare with. Empty for Exists and DoesNotExist. */
  values?: string[];
}

export type LabelSelectorOperator = 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | (string & {});

/** A requirement for a field. */
export interface FieldSelectorRequirement {
  /** The field. */
  key: string;
  /** In, NotIn, Exists or DoesNotExist. */
  operator: FieldSelectorOperator;
  /** The values. */
  values?: string[];
}

export type FieldSelectorOperator = 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | (string & {});

/** The fields that one manager owns. */
export interface ManagedFieldsEntry {
  /** The name of the manager: the tool or component that wrote them. */
  manager?: string;
  /** How they were written: Apply or Update. */
  operation?: ManagedFieldsOperationType;
  /** The version of the API that the fields are named in. */
  apiVersion?: string;
  /** When the entry last changed. */
  time?: string;
  /** The form of the set of fields; FieldsV1 is the only one. */
  fieldsType?: string;
  /** The set of fields. */
  fieldsV1?: Record<string, unknown>;
  /** The subresource through which they were written, if any. */
  subresource?: string;
}

export type ManagedFieldsOperationType = 'Apply' | 'Update' | (string & {});

/** Objects as rows of a table. */
export interface Table extends TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: ListMeta;
  /** The columns. */
  columnDefinitions: TableColumnDefinition[];
  /** The rows. */
  rows: TableRow[];
}

/** A column. */
export interface TableColumnDefinition {
  /** The heading. */
  name: string;
  /** The OpenAPI type. */
  type: string;
  /** The OpenAPI format. name for the column with the name of the object. */
  format: string;
  /** A description. */
  description: string;
  /** Above 0: shown with -o wide only. */
  priority: number;
}

/** A row. */
export interface TableRow {
  /** The cells, in the order of the columns. */
  cells: unknown[];
  /** Marks of the row, such as Completed. */
  conditions?: TableRowCondition[];
  /** The object, or its metadata. */
  object: Record<string, unknown> | null;
}

/** A mark of a row. */
export interface TableRowCondition {
  /** The type of the condition. */
  type: RowConditionType;
  /** True, False or Unknown. */
  status: ConditionStatus;
  /** Why, as one word for programs. */
  reason?: string;
  /** Why, for people. */
  message?: string;
}

export type RowConditionType = 'Completed' | (string & {});

export type ConditionStatus = 'True' | 'False' | 'Unknown' | (string & {});

export type IncludeObjectPolicy = 'None' | 'Metadata' | 'Object' | (string & {});

/** Options of a table. */
export interface TableOptions extends TypeMeta {
  /** Part of the object that each row contains: None, Metadata or Object. Default: Metadata. */
  includeObject?: IncludeObjectPolicy;
}

/** The metadata of an object of any kind. */
export interface PartialObjectMetadata extends TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: ObjectMeta;
}

/** A list of PartialObjectMetadata objects. */
export interface PartialObjectMetadataList extends TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: ListMeta;
  /** The objects of the list. */
  items: PartialObjectMetadata[];
}

/** One aspect of the state of an object. */
export interface Condition {
  /** The name of the aspect. */
  type: string;
  /** Whether it holds: True, False or Unknown. */
  status: ConditionStatus;
  /** The generation of the object that this status describes. */
  observedGeneration?: number;
  /** When the status last changed. */
  lastTransitionTime: string;
  /** Why, as one word for programs. */
  reason: string;
  /** Why, for people. */
  message: string;
}

/** One change that a watch tells of. */
export interface WatchEvent {
  /** ADDED, MODIFIED, DELETED, BOOKMARK or ERROR. */
  type: string;
  /** The object after the change; before it for DELETED; a Status for ERROR. */
  object: Record<string, unknown>;
}
