// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as meta from '#api/machinery/meta/v1/types.ts';

export type ConversionStrategyType = 'None' | 'Webhook' | (string & {});

/** The definition. */
export interface CustomResourceDefinitionSpec {
  /** The API group. */
  group: string;
  /** The names of the resource. */
  names: CustomResourceDefinitionNames;
  /** Cluster or Namespaced. */
  scope: ResourceScope;
  /** The versions. */
  versions: CustomResourceDefinitionVersion[];
  /** How objects are converted between versions. */
  conversion?: CustomResourceConversion;
  /** Must be false: unknown fields are removed, unless the schema keeps them. */
  preserveUnknownFields?: boolean;
}

/** How objects are converted between versions. */
export interface CustomResourceConversion {
  /** None to change only apiVersion, or Webhook. */
  strategy: ConversionStrategyType;
  /** The webhook that converts. */
  webhook?: WebhookConversion;
}

/** A webhook that converts objects. */
export interface WebhookConversion {
  /** How the webhook is called. */
  clientConfig?: WebhookClientConfig;
  /** The versions of ConversionReview that the webhook understands, by preference. */
  conversionReviewVersions: string[];
}

/** How a webhook is called. Either url or service is set. */
export interface WebhookClientConfig {
  /** The https URL. */
  url?: string;
  /** A service of the cluster. */
  service?: ServiceReference;
  /** Certificates in PEM, one of which must have signed that of the server. Default: those of the system. */
  caBundle?: string;
}

/** A service. */
export interface ServiceReference {
  /** The namespace of the service. */
  namespace: string;
  /** The name of the service. */
  name: string;
  /** The path of the URL. */
  path?: string;
  /** The port. Default: 443. */
  port?: number;
}

/** One version of a custom resource. */
export interface CustomResourceDefinitionVersion {
  /** The name, such as v1 or v2beta1. */
  name: string;
  /** Whether the version is served. */
  served: boolean;
  /** Whether objects are stored in this version. True for exactly one. */
  storage: boolean;
  /** Whether clients get a warning. */
  deprecated?: boolean;
  /** The warning. Default: one that names a newer version. */
  deprecationWarning?: string;
  /** The schema of the objects. */
  schema?: CustomResourceValidation;
  /** The subresources. */
  subresources?: CustomResourceSubresources;
  /** Columns that kubectl get shows. Default: the age. */
  additionalPrinterColumns?: CustomResourceColumnDefinition[];
  /** Fields that field selectors can use. */
  selectableFields?: SelectableField[];
}

/** A field that field selectors can use. */
export interface SelectableField {
  /** The path of the field, such as .spec.color. It has a string, boolean or integer. */
  jsonPath: string;
}

/** A column that kubectl get shows. */
export interface CustomResourceColumnDefinition {
  /** The heading. */
  name: string;
  /** integer, number, string, boolean or date. */
  type: string;
  /** An OpenAPI format, such as int32 or date-time. */
  format?: string;
  /** A description of the column. */
  description?: string;
  /** Above 0: shown with -o wide only. */
  priority?: number;
  /** The path of the value, such as .spec.replicas. */
  jsonPath: string;
}

/** The names of a resource. */
export interface CustomResourceDefinitionNames {
  /** The name in paths, in lower case. */
  plural: string;
  /** The singular in lower case. Default: the kind in lower case. */
  singular?: string;
  /** Short names for command lines. */
  shortNames?: string[];
  /** The kind, in CamelCase. */
  kind: string;
  /** The kind of lists. Default: the kind with List. */
  listKind?: string;
  /** Groups of resources for command lines, such as all. */
  categories?: string[];
}

export type ResourceScope = 'Cluster' | 'Namespaced' | (string & {});

export type ConditionStatus = 'True' | 'False' | 'Unknown' | (string & {});

export type CustomResourceDefinitionConditionType = 'Established' | 'NamesAccepted' | 'NonStructuralSchema' | 'Terminating' | 'KubernetesAPIApprovalPolicyConformant' | 'StorageMigrating' | (string & {});

/** A condition of a definition. */
export interface CustomResourceDefinitionCondition {
  /** The type of the condition. */
  type: CustomResourceDefinitionConditionType;
  /** True, False or Unknown. */
  status: ConditionStatus;
  /** When the status last changed. */
  lastTransitionTime: string | null;
  /** Why, as one word for programs. */
  reason?: string;
  /** Why, for people. */
  message?: string;
  /** The generation of the object that this status describes. */
  observedGeneration?: number;
}

/** The state of a definition. */
export interface CustomResourceDefinitionStatus {
  /** Established, NamesAccepted and others. */
  conditions: CustomResourceDefinitionCondition[] | null;
  /** The names that are in use. */
  acceptedNames: CustomResourceDefinitionNames;
  /** The versions in which objects may be stored. */
  storedVersions: string[] | null;
  /** The generation of the object that this status describes. */
  observedGeneration?: number;
}

/** Defines a kind of custom resources. */
export interface CustomResourceDefinition extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: CustomResourceDefinitionSpec;
  /** The observed state. */
  status: CustomResourceDefinitionStatus;
}

/** A list of CustomResourceDefinition objects. */
export interface CustomResourceDefinitionList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: CustomResourceDefinition[];
}

/** The schema of a version. */
export interface CustomResourceValidation {
  /** The schema, which is structural. */
  openAPIV3Schema?: JSONSchemaProps;
}

/** The subresources of a version. */
export interface CustomResourceSubresources {
  /** The status has an endpoint of its own. */
  status?: CustomResourceSubresourceStatus;
  /** The resource can be scaled. */
  scale?: CustomResourceSubresourceScale;
}

/** Turns the status subresource on. */
export type CustomResourceSubresourceStatus = Record<string, never>;

/** The paths of the values of the scale subresource. */
export interface CustomResourceSubresourceScale {
  /** The path of the desired number, such as .spec.replicas. */
  specReplicasPath: string;
  /** The path of the observed number, such as .status.replicas. */
  statusReplicasPath: string;
  /** The path of a label selector as text, which autoscalers need. */
  labelSelectorPath?: string;
}

/** A call of a conversion webhook. */
export interface ConversionReview extends meta.TypeMeta {
  /** The objects to convert. */
  request?: ConversionRequest;
  /** The converted objects. */
  response?: ConversionResponse;
}

/** Objects to convert. */
export interface ConversionRequest {
  /** The ID of the call. */
  uid: string;
  /** The version to convert to. */
  desiredAPIVersion: string;
  /** The objects. */
  objects: Record<string, unknown>[];
}

/** Converted objects. */
export interface ConversionResponse {
  /** The ID of the call. */
  uid: string;
  /** The objects, in the same order. */
  convertedObjects: Record<string, unknown>[];
  /** Success, or the reason of the failure. */
  result: meta.Status;
}

export type FieldValueErrorReason = 'FieldValueRequired' | 'FieldValueDuplicate' | 'FieldValueInvalid' | 'FieldValueForbidden';

/** A schema, or true or false for anything or nothing. */
export type JSONSchemaPropsOrBool = JSONSchemaProps | boolean;

/** A schema, or a list of schemas. */
export type JSONSchemaPropsOrArray = JSONSchemaProps | JSONSchemaProps[];

/** A schema, or a list of property names. */
export type JSONSchemaPropsOrStringArray = JSONSchemaProps | string[];

/** A schema in the JSON Schema of OpenAPI v3, with extensions of Kubernetes. */
export interface JSONSchemaProps {
  /** Not supported in structural schemas. */
  id?: string;
  /** The URI of the schema language. */
  $schema?: string;
  /** Not supported. */
  $ref?: string;
  /** A description, which kubectl explain shows. */
  description?: string;
  /** object, array, string, integer, number or boolean. */
  type?: string;
  /** A format, such as date-time, int64 or uuid. */
  format?: string;
  /** A title. */
  title?: string;
  /** The value of a field that is absent. */
  default?: unknown;
  /** The largest number. */
  maximum?: number;
  /** Whether the maximum itself is excluded. */
  exclusiveMaximum?: boolean;
  /** The smallest number. */
  minimum?: number;
  /** Whether the minimum itself is excluded. */
  exclusiveMinimum?: boolean;
  /** The largest number of characters. */
  maxLength?: number;
  /** The smallest number of characters. */
  minLength?: number;
  /** A regular expression (RE2) that a string must match. */
  pattern?: string;
  /** The largest number of items. */
  maxItems?: number;
  /** The smallest number of items. */
  minItems?: number;
  /** Must be false. Use x-kubernetes-list-type: set. */
  uniqueItems?: boolean;
  /** The number is a multiple of this one. */
  multipleOf?: number;
  /** The allowed values. */
  enum?: unknown[];
  /** The largest number of properties. */
  maxProperties?: number;
  /** The smallest number of properties. */
  minProperties?: number;
  /** Names of properties that must be present. */
  required?: string[];
  /** The objects of the list. */
  items?: JSONSchemaPropsOrArray;
  /** Schemas that must all match. */
  allOf?: JSONSchemaProps[];
  /** Schemas of which exactly one must match. */
  oneOf?: JSONSchemaProps[];
  /** Schemas of which at least one must match. */
  anyOf?: JSONSchemaProps[];
  /** A schema that must not match. */
  not?: JSONSchemaProps;
  /** Properties with their schemas. */
  properties?: Record<string, JSONSchemaProps>;
  /** The schema of all other properties. */
  additionalProperties?: JSONSchemaPropsOrBool;
  /** Not supported. */
  patternProperties?: Record<string, JSONSchemaProps>;
  /** Not supported. */
  dependencies?: JSONSchemaDependencies;
  /** Not supported. */
  additionalItems?: JSONSchemaPropsOrBool;
  /** Not supported. */
  definitions?: JSONSchemaDefinitions;
  /** A link to documentation. */
  externalDocs?: ExternalDocumentation;
  /** An example value. */
  example?: unknown;
  /** Whether null is allowed. */
  nullable?: boolean;
  /** Whether fields that the schema does not name are kept. */
  'x-kubernetes-preserve-unknown-fields'?: boolean;
  /** Whether the value is a Kubernetes object with apiVersion, kind and metadata. */
  'x-kubernetes-embedded-resource'?: boolean;
  /** Whether the value is an integer or a string. */
  'x-kubernetes-int-or-string'?: boolean;
  /** The fields that identify the items of a list of the type map. */
  'x-kubernetes-list-map-keys'?: string[];
  /** How lists are merged: atomic, set or map. Default: atomic. */
  'x-kubernetes-list-type'?: string;
  /** How maps are merged: granular or atomic. Default: granular. */
  'x-kubernetes-map-type'?: string;
  /** Rules in CEL that the value must meet. */
  'x-kubernetes-validations'?: ValidationRules;
}

export type ValidationRules = ValidationRule[];

/** A rule in CEL. */
export interface ValidationRule {
  /** The expression. self is the value; oldSelf is the one before an update. */
  rule: string;
  /** The message if the rule is not met. */
  message?: string;
  /** A CEL expression for the message. It takes precedence over message. */
  messageExpression?: string;
  /** The reason of the error: FieldValueInvalid, FieldValueForbidden, FieldValueRequired or FieldValueDuplicate. */
  reason?: FieldValueErrorReason;
  /** The field that the error is reported at, relative to this one. */
  fieldPath?: string;
  /** Whether a rule with oldSelf is also evaluated without an old value; oldSelf is optional then. */
  optionalOldSelf?: boolean;
}

export type JSONSchemaDependencies = Record<string, JSONSchemaPropsOrStringArray>;

export type JSONSchemaDefinitions = Record<string, JSONSchemaProps>;

/** A link to documentation. */
export interface ExternalDocumentation {
  /** A description. */
  description?: string;
  /** The URL. */
  url?: string;
}
