// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as meta from '#api/machinery/meta/v1/types.ts';

/** A list of APIService objects. */
export interface APIServiceList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: APIService[];
}

/** A service. */
export interface ServiceReference {
  /** The namespace of the service. */
  namespace?: string;
  /** The name of the service. */
  name?: string;
  /** The port. Default: 443. */
  port?: number;
}

/** The group version and its server. */
export interface APIServiceSpec {
  /** The service of the other API server. Absent: this server. */
  service?: ServiceReference;
  /** The API group. */
  group?: string;
  /** The API version. */
  version?: string;
  /** Whether the certificate of the server is not verified. */
  insecureSkipTLSVerify?: boolean;
  /** Certificates in PEM, one of which must have signed that of the server. */
  caBundle?: string;
  /** The priority of the group, up to 20000. Groups with a higher one come first. */
  groupPriorityMinimum: number;
  /** The priority of the version in its group. Versions with a higher one come first. */
  versionPriority: number;
}

export type ConditionStatus = 'True' | 'False' | 'Unknown' | (string & {});

export type APIServiceConditionType = 'Available' | (string & {});

/** A condition of an APIService. */
export interface APIServiceCondition {
  /** The type of the condition. */
  type: APIServiceConditionType;
  /** True, False or Unknown. */
  status: ConditionStatus;
  /** When the status last changed. */
  lastTransitionTime: string | null;
  /** Why, as one word for programs. */
  reason?: string;
  /** Why, for people. */
  message?: string;
}

/** The state of an APIService. */
export interface APIServiceStatus {
  /** Available, if the server can be reached. */
  conditions?: APIServiceCondition[];
}

/** A group version that this or another API server serves. */
export interface APIService extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: APIServiceSpec;
  /** The observed state. */
  status: APIServiceStatus;
}
