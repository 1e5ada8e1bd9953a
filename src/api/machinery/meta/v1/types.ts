// Generated from schema.ts by `npm run generate`. Do not edit.

export interface GroupResource {
  group: string;
  resource: string;
}

export interface GroupVersionResource {
  group: string;
  version: string;
  resource: string;
}

export interface GroupKind {
  group: string;
  kind: string;
}

export interface GroupVersionKind {
  group: string;
  version: string;
  kind: string;
}

export interface GroupVersion {
  group: string;
  version: string;
}

export interface TypeMeta {
  kind?: string;
  apiVersion?: string;
}

export interface ListMeta {
  selfLink?: string;
  resourceVersion?: string;
  continue?: string;
  remainingItemCount?: number;
  shardInfo?: ShardInfo;
}

export interface ShardInfo {
  selector: string;
}

export interface ObjectMeta {
  name: string;
  generateName?: string;
  namespace?: string;
  selfLink?: string;
  uid: string;
  resourceVersion: string;
  generation?: number;
  creationTimestamp: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  finalizers?: string[];
  managedFields?: ManagedFieldsEntry[];
}

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface ListOptions extends TypeMeta {
  labelSelector?: string;
  fieldSelector?: string;
  watch?: boolean;
  allowWatchBookmarks?: boolean;
  resourceVersion?: string;
  resourceVersionMatch?: ResourceVersionMatch;
  timeoutSeconds?: number;
  limit?: number;
  continue?: string;
  sendInitialEvents?: boolean;
  shardSelector?: string;
}

export type ResourceVersionMatch = 'NotOlderThan' | 'Exact' | (string & {});

export interface GetOptions extends TypeMeta {
  resourceVersion?: string;
}

export type DeletionPropagation = 'Orphan' | 'Background' | 'Foreground' | (string & {});

export interface DeleteOptions extends TypeMeta {
  gracePeriodSeconds?: number;
  preconditions?: Preconditions;
  orphanDependents?: boolean;
  propagationPolicy?: DeletionPropagation;
  dryRun?: string[];
  ignoreStoreReadErrorWithClusterBreakingPotential?: boolean;
}

export interface CreateOptions extends TypeMeta {
  dryRun?: string[];
  fieldManager?: string;
  fieldValidation?: string;
}

export interface PatchOptions extends TypeMeta {
  dryRun?: string[];
  force?: boolean;
  fieldManager?: string;
  fieldValidation?: string;
}

export interface ApplyOptions extends TypeMeta {
  dryRun?: string[];
  force: boolean;
  fieldManager: string;
}

export interface UpdateOptions extends TypeMeta {
  dryRun?: string[];
  fieldManager?: string;
  fieldValidation?: string;
}

export interface Preconditions {
  uid?: string;
  resourceVersion?: string;
}

export interface Status extends TypeMeta {
  metadata: ListMeta;
  status?: string;
  message?: string;
  reason?: StatusReason;
  details?: StatusDetails;
  code?: number;
}

export interface StatusDetails {
  name?: string;
  group?: string;
  kind?: string;
  uid?: string;
  causes?: StatusCause[];
  retryAfterSeconds?: number;
}

export type StatusReason = '' | 'Unauthorized' | 'Forbidden' | 'NotFound' | 'AlreadyExists' | 'Conflict' | 'Gone' | 'Invalid' | 'ServerTimeout' | 'StorageReadError' | 'Timeout' | 'TooManyRequests' | 'BadRequest' | 'MethodNotAllowed' | 'NotAcceptable' | 'RequestEntityTooLarge' | 'UnsupportedMediaType' | 'InternalError' | 'Expired' | 'ServiceUnavailable' | (string & {});

export interface StatusCause {
  reason?: CauseType;
  message?: string;
  field?: string;
}

export type CauseType = 'FieldValueNotFound' | 'FieldValueRequired' | 'FieldValueDuplicate' | 'FieldValueInvalid' | 'FieldValueNotSupported' | 'FieldValueForbidden' | 'FieldValueTooLong' | 'FieldValueTooMany' | 'InternalError' | 'FieldValueTypeInvalid' | 'UnexpectedServerResponse' | 'FieldManagerConflict' | 'ResourceVersionTooLarge' | (string & {});

export interface List extends TypeMeta {
  metadata: ListMeta;
  items: Record<string, unknown>[];
}

export interface APIVersions extends TypeMeta {
  versions: string[];
  serverAddressByClientCIDRs: ServerAddressByClientCIDR[];
}

export interface APIGroupList extends TypeMeta {
  groups: APIGroup[];
}

export interface APIGroup extends TypeMeta {
  name: string;
  versions: GroupVersionForDiscovery[];
  preferredVersion: GroupVersionForDiscovery;
  serverAddressByClientCIDRs?: ServerAddressByClientCIDR[];
}

export interface ServerAddressByClientCIDR {
  clientCIDR: string;
  serverAddress: string;
}

export interface GroupVersionForDiscovery {
  groupVersion: string;
  version: string;
}

export interface APIResource {
  name: string;
  singularName: string;
  namespaced: boolean;
  group?: string;
  version?: string;
  kind: string;
  verbs: Verbs;
  shortNames?: string[];
  categories?: string[];
  storageVersionHash?: string;
}

export type Verbs = string[];

export interface APIResourceList extends TypeMeta {
  groupVersion: string;
  resources: APIResource[];
}

export interface RootPaths {
  paths: string[];
}

export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: LabelSelectorRequirement[];
}

export interface LabelSelectorRequirement {
  key: string;
  operator: LabelSelectorOperator;
  values?: string[];
}

export type LabelSelectorOperator = 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | (string & {});

export interface FieldSelectorRequirement {
  key: string;
  operator: FieldSelectorOperator;
  values?: string[];
}

export type FieldSelectorOperator = 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | (string & {});

export interface ManagedFieldsEntry {
  manager?: string;
  operation?: ManagedFieldsOperationType;
  apiVersion?: string;
  time?: string;
  fieldsType?: string;
  fieldsV1?: Record<string, unknown>;
  subresource?: string;
}

export type ManagedFieldsOperationType = 'Apply' | 'Update' | (string & {});

export interface Table extends TypeMeta {
  metadata: ListMeta;
  columnDefinitions: TableColumnDefinition[];
  rows: TableRow[];
}

export interface TableColumnDefinition {
  name: string;
  type: string;
  format: string;
  description: string;
  priority: number;
}

export interface TableRow {
  cells: unknown[];
  conditions?: TableRowCondition[];
  object: Record<string, unknown> | null;
}

export interface TableRowCondition {
  type: RowConditionType;
  status: ConditionStatus;
  reason?: string;
  message?: string;
}

export type RowConditionType = 'Completed' | (string & {});

export type ConditionStatus = 'True' | 'False' | 'Unknown' | (string & {});

export type IncludeObjectPolicy = 'None' | 'Metadata' | 'Object' | (string & {});

export interface TableOptions extends TypeMeta {
  includeObject?: IncludeObjectPolicy;
}

export interface PartialObjectMetadata extends TypeMeta {
  metadata: ObjectMeta;
}

export interface PartialObjectMetadataList extends TypeMeta {
  metadata: ListMeta;
  items: PartialObjectMetadata[];
}

export interface Condition {
  type: string;
  status: ConditionStatus;
  observedGeneration?: number;
  lastTransitionTime: string;
  reason: string;
  message: string;
}

export interface WatchEvent {
  type: string;
  object: Record<string, unknown>;
}
