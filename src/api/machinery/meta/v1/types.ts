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

/** Metadata of a list: the version at which it was read, and the beginning of the next page. */
export interface ListMeta {
  /** No longer used. */
  selfLink?: string;
  /** The version at which the list was read. A watch can begin there. */
  resourceVersion?: string;
  /** The token for the next page. Absent: there is no next page. */
  continue?: string;
  /** The number of items after this page, if known. */
  remainingItemCount?: number;
  /** The part of the collection in the list. */
  shardInfo?: ShardInfo;
}

/** The part of a collection that a list has. */
export interface ShardInfo {
  /** The selector of the part. */
  selector: string;
}

/** Metadata of every object: identity, labels, annotations, owners, and the state of its deletion. */
export interface ObjectMeta {
  /** The name of the object, unique for its kind and namespace. It cannot be changed. */
  name: string;
  /** A prefix to which the server adds a random suffix if there is no name. */
  generateName?: string;
  /** The namespace of the object. Cluster-scoped objects have none. */
  namespace?: string;
  /** No longer used. */
  selfLink?: string;
  /** Set by the server: an identifier that differs even from former objects of the same name. */
  uid: string;
  /** Set by the server at every change. An update with an old version is rejected. */
  resourceVersion: string;
  /** The number of changes of the desired state. */
  generation?: number;
  /** CreationTimestamp is a timestamp: when the server created the object. */
  creationTimestamp: string;
  /** When the object will be deleted. Set by the server when its deletion is requested. */
  deletionTimestamp?: string;
  /** The grace period, in seconds from the request for the deletion. */
  deletionGracePeriodSeconds?: number;
  /** Keys and values by which objects are selected. */
  labels?: Record<string, string>;
  /** Keys and values for tools and people. Objects cannot be selected by them. */
  annotations?: Record<string, string>;
  /** The owners of the object. It is deleted when all of them are deleted. */
  ownerReferences?: OwnerReference[];
  /** Finalizers: the object is deleted when the list is empty. Each controller removes its own entry. */
  finalizers?: string[];
  /** The owners of fields, as server-side apply records them. */
  managedFields?: ManagedFieldsEntry[];
}

/** An owner of the object, in the same namespace or cluster-scoped. */
export interface OwnerReference {
  /** APIVersion defines the API group and version that the object is written in, such as v1 or apps/v1. */
  apiVersion: string;
  /** The kind of object that it is, in CamelCase. */
  kind: string;
  /** The name of the owner. */
  name: string;
  /** The UID of the owner. */
  uid: string;
  /** Whether the owner manages the object. At most one owner does. */
  controller?: boolean;
  /** Whether the foreground deletion of the owner waits for the deletion of this object. */
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
  /** The meaning of resourceVersion in a list: Exact or NotOlderThan. */
  resourceVersionMatch?: ResourceVersionMatch;
  /** How long the list or watch may take. */
  timeoutSeconds?: number;
  /** The maximum number of objects in one response. */
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

/** Options of a deletion. */
export interface DeleteOptions extends TypeMeta {
  /** The grace period in seconds. 0 deletes the object immediately. */
  gracePeriodSeconds?: number;
  /** Preconditions. The deletion is rejected if one does not hold. */
  preconditions?: Preconditions;
  /** No longer used: see propagationPolicy. */
  orphanDependents?: boolean;
  /** Treatment of dependent objects: Orphan, Background or Foreground. */
  propagationPolicy?: DeletionPropagation;
  /** All, to do everything but store the result. */
  dryRun?: string[];
  /** Whether to delete an object that cannot be read any more, even with finalizers. */
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
  /** The UID that the object must have. */
  uid?: string;
  /** The resource version that the object must have. */
  resourceVersion?: string;
}

/** The result of a request without an object. */
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
  /** The UID of the object. */
  uid?: string;
  /** Every single error. */
  causes?: StatusCause[];
  /** The number of seconds before a retry. */
  retryAfterSeconds?: number;
}

export type StatusReason = '' | 'Unauthorized' | 'Forbidden' | 'NotFound' | 'AlreadyExists' | 'Conflict' | 'Gone' | 'Invalid' | 'ServerTimeout' | 'StorageReadError' | 'Timeout' | 'TooManyRequests' | 'BadRequest' | 'MethodNotAllowed' | 'NotAcceptable' | 'RequestEntityTooLarge' | 'UnsupportedMediaType' | 'InternalError' | 'Expired' | 'ServiceUnavailable' | (string & {});

/** A single error. */
export interface StatusCause {
  /** Reason in one word, for programs. */
  reason?: CauseType;
  /** Message for users. */
  message?: string;
  /** The invalid field, such as spec.containers[0].image. */
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
  /** The group of the kind, if it differs from that of the list. */
  group?: string;
  /** The version of the kind, if it differs from that of the list. */
  version?: string;
  /** The kind of object that it is, in CamelCase. */
  kind: string;
  /** Verbs that the resource supports. */
  verbs: Verbs;
  /** Short names for the command line. */
  shortNames?: string[];
  /** Groups of resources that it belongs to, such as all. */
  categories?: string[];
  /** A hash that changes with the version in which objects are stored. */
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

/** Selects objects by their labels. Every requirement must be met. An empty selector matches all. */
export interface LabelSelector {
  /** Labels that the objects must have, with these values. */
  matchLabels?: Record<string, string>;
  /** Requirements on labels that go beyond equality. */
  matchExpressions?: LabelSelectorRequirement[];
}

/** One requirement on a label. */
export interface LabelSelectorRequirement {
  /** The key of the label. */
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
  /** The name of the manager, a tool or component. */
  manager?: string;
  /** How the fields were written: Apply or Update. */
  operation?: ManagedFieldsOperationType;
  /** The API version of the fields. */
  apiVersion?: string;
  /** When the entry last changed. */
  time?: string;
  /** The form of the set of fields; FieldsV1 is the only one. */
  fieldsType?: string;
  /** The set of fields. */
  fieldsV1?: Record<string, unknown>;
  /** The subresource through which the fields were written, if any. */
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

/** A condition of an object. */
export interface Condition {
  /** The type of the condition. */
  type: string;
  /** True, False or Unknown. */
  status: ConditionStatus;
  /** The generation of the object that this status describes. */
  observedGeneration?: number;
  /** When the status last changed. */
  lastTransitionTime: string;
  /** The reason, as one word for programs. */
  reason: string;
  /** The reason, for people. */
  message: string;
}

/** A change, as an event of a watch. */
export interface WatchEvent {
  /** ADDED, MODIFIED, DELETED, BOOKMARK or ERROR. */
  type: string;
  /** The object after the change; before it for DELETED; a Status for ERROR. */
  object: Record<string, unknown>;
}
