// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as meta from '#api/machinery/meta/v1/types.ts';

export type ConversionStrategyType = 'None' | 'Webhook' | (string & {});

export interface CustomResourceDefinitionSpec {
  group: string;
  names: CustomResourceDefinitionNames;
  scope: ResourceScope;
  versions: CustomResourceDefinitionVersion[];
  conversion?: CustomResourceConversion;
  preserveUnknownFields?: boolean;
}

export interface CustomResourceConversion {
  strategy: ConversionStrategyType;
  webhook?: WebhookConversion;
}

export interface WebhookConversion {
  clientConfig?: WebhookClientConfig;
  conversionReviewVersions: string[];
}

export interface WebhookClientConfig {
  url?: string;
  service?: ServiceReference;
  caBundle?: string;
}

export interface ServiceReference {
  namespace: string;
  name: string;
  path?: string;
  port?: number;
}

export interface CustomResourceDefinitionVersion {
  name: string;
  served: boolean;
  storage: boolean;
  deprecated?: boolean;
  deprecationWarning?: string;
  schema?: CustomResourceValidation;
  subresources?: CustomResourceSubresources;
  additionalPrinterColumns?: CustomResourceColumnDefinition[];
  selectableFields?: SelectableField[];
}

export interface SelectableField {
  jsonPath: string;
}

export interface CustomResourceColumnDefinition {
  name: string;
  type: string;
  format?: string;
  description?: string;
  priority?: number;
  jsonPath: string;
}

export interface CustomResourceDefinitionNames {
  plural: string;
  singular?: string;
  shortNames?: string[];
  kind: string;
  listKind?: string;
  categories?: string[];
}

export type ResourceScope = 'Cluster' | 'Namespaced' | (string & {});

export type ConditionStatus = 'True' | 'False' | 'Unknown' | (string & {});

export type CustomResourceDefinitionConditionType = 'Established' | 'NamesAccepted' | 'NonStructuralSchema' | 'Terminating' | 'KubernetesAPIApprovalPolicyConformant' | 'StorageMigrating' | (string & {});

export interface CustomResourceDefinitionCondition {
  type: CustomResourceDefinitionConditionType;
  status: ConditionStatus;
  lastTransitionTime: string | null;
  reason?: string;
  message?: string;
  observedGeneration?: number;
}

export interface CustomResourceDefinitionStatus {
  conditions: CustomResourceDefinitionCondition[] | null;
  acceptedNames: CustomResourceDefinitionNames;
  storedVersions: string[] | null;
  observedGeneration?: number;
}

export interface CustomResourceDefinition extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  spec: CustomResourceDefinitionSpec;
  status: CustomResourceDefinitionStatus;
}

export interface CustomResourceDefinitionList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: CustomResourceDefinition[];
}

export interface CustomResourceValidation {
  openAPIV3Schema?: JSONSchemaProps;
}

export interface CustomResourceSubresources {
  status?: CustomResourceSubresourceStatus;
  scale?: CustomResourceSubresourceScale;
}

export type CustomResourceSubresourceStatus = Record<string, never>;

export interface CustomResourceSubresourceScale {
  specReplicasPath: string;
  statusReplicasPath: string;
  labelSelectorPath?: string;
}

export interface ConversionReview extends meta.TypeMeta {
  request?: ConversionRequest;
  response?: ConversionResponse;
}

export interface ConversionRequest {
  uid: string;
  desiredAPIVersion: string;
  objects: Record<string, unknown>[];
}

export interface ConversionResponse {
  uid: string;
  convertedObjects: Record<string, unknown>[];
  result: meta.Status;
}

export type FieldValueErrorReason = 'FieldValueRequired' | 'FieldValueDuplicate' | 'FieldValueInvalid' | 'FieldValueForbidden';

export type JSONSchemaPropsOrBool = JSONSchemaProps | boolean;

export type JSONSchemaPropsOrArray = JSONSchemaProps | JSONSchemaProps[];

export type JSONSchemaPropsOrStringArray = JSONSchemaProps | string[];

export interface JSONSchemaProps {
  id?: string;
  $schema?: string;
  $ref?: string;
  description?: string;
  type?: string;
  format?: string;
  title?: string;
  default?: unknown;
  maximum?: number;
  exclusiveMaximum?: boolean;
  minimum?: number;
  exclusiveMinimum?: boolean;
  maxLength?: number;
  minLength?: number;
  pattern?: string;
  maxItems?: number;
  minItems?: number;
  uniqueItems?: boolean;
  multipleOf?: number;
  enum?: unknown[];
  maxProperties?: number;
  minProperties?: number;
  required?: string[];
  items?: JSONSchemaPropsOrArray;
  allOf?: JSONSchemaProps[];
  oneOf?: JSONSchemaProps[];
  anyOf?: JSONSchemaProps[];
  not?: JSONSchemaProps;
  properties?: Record<string, JSONSchemaProps>;
  additionalProperties?: JSONSchemaPropsOrBool;
  patternProperties?: Record<string, JSONSchemaProps>;
  dependencies?: JSONSchemaDependencies;
  additionalItems?: JSONSchemaPropsOrBool;
  definitions?: JSONSchemaDefinitions;
  externalDocs?: ExternalDocumentation;
  example?: unknown;
  nullable?: boolean;
  'x-kubernetes-preserve-unknown-fields'?: boolean;
  'x-kubernetes-embedded-resource'?: boolean;
  'x-kubernetes-int-or-string'?: boolean;
  'x-kubernetes-list-map-keys'?: string[];
  'x-kubernetes-list-type'?: string;
  'x-kubernetes-map-type'?: string;
  'x-kubernetes-validations'?: ValidationRules;
}

export type ValidationRules = ValidationRule[];

export interface ValidationRule {
  rule: string;
  message?: string;
  messageExpression?: string;
  reason?: FieldValueErrorReason;
  fieldPath?: string;
  optionalOldSelf?: boolean;
}

export type JSONSchemaDependencies = Record<string, JSONSchemaPropsOrStringArray>;

export type JSONSchemaDefinitions = Record<string, JSONSchemaProps>;

export interface ExternalDocumentation {
  description?: string;
  url?: string;
}
