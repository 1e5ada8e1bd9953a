// The schema in definitions of custom resources: the part of JSONSchemaProps
// (apiextensions.k8s.io/v1) that the codec uses.

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
  /** Any JSON. */
  enum?: unknown[];
  maxProperties?: number;
  minProperties?: number;
  required?: string[];
  items?: JSONSchemaProps | JSONSchemaProps[];
  allOf?: JSONSchemaProps[];
  oneOf?: JSONSchemaProps[];
  anyOf?: JSONSchemaProps[];
  not?: JSONSchemaProps;
  properties?: Record<string, JSONSchemaProps>;
  additionalProperties?: JSONSchemaProps | boolean;
  patternProperties?: Record<string, JSONSchemaProps>;
  dependencies?: Record<string, JSONSchemaProps | string[]>;
  additionalItems?: JSONSchemaProps | boolean;
  definitions?: Record<string, JSONSchemaProps>;
  externalDocs?: { description?: string; url?: string };
  example?: unknown;
  nullable?: boolean;
  'x-kubernetes-preserve-unknown-fields'?: boolean;
  'x-kubernetes-embedded-resource'?: boolean;
  'x-kubernetes-int-or-string'?: boolean;
  'x-kubernetes-list-map-keys'?: string[];
  'x-kubernetes-list-type'?: string;
  'x-kubernetes-map-type'?: string;
  'x-kubernetes-validations'?: ValidationRule[];
}

/** A rule for every value of a schema: an expression over `self` (and, in an update, `oldSelf`). */
export interface ValidationRule {
  rule: string;
  message?: string;
  /** Evaluates to the message. It takes precedence over `message`, unless its evaluation fails. */
  messageExpression?: string;
  /**
   * FieldValueInvalid, FieldValueForbidden, FieldValueRequired or FieldValueDuplicate. Default:
   * FieldValueInvalid.
   */
  reason?: string;
  /** The path below the value, such as `.a.b` or `['a-b']`, at which the error is reported. */
  fieldPath?: string;
  /**
   * Evaluate a rule with `oldSelf` also without an old value; `oldSelf` is an optional value then.
   */
  optionalOldSelf?: boolean;
}
