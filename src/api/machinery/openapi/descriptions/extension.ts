// Descriptions of webhooks, policies, custom resources and aggregated API servers.

import type { Descriptions } from './form.ts';

const RULE = {
  apiGroups: 'The API groups. "*": all.',
  apiVersions: 'The API versions. "*": all.',
  resources: 'The resources, also with a subresource: pods, pods/log, */scale, *, */*.',
  scope: 'Cluster, Namespaced or "*". Default: "*".',
};
const OPERATIONS = 'CREATE, UPDATE, DELETE, CONNECT or "*".';
const FAILURE_POLICY =
  'Policy for errors: Ignore lets the request pass, Fail rejects it. Default: Fail.';
const MATCH_POLICY =
  'Exact, or Equivalent to match other versions of a resource, too. Default: Equivalent.';
const NAMESPACES = 'Selects namespaces by labels. Default: all.';
const OBJECTS = 'Selects objects by labels, old or new. Default: all.';
const MATCH_CONDITIONS = 'CEL expressions that must be true. At most 64.';
const SERVICE = {
  namespace: 'The namespace of the service.',
  name: 'The name of the service.',
  port: 'The port. Default: 443.',
};
const WEBHOOK = {
  name: 'The name, a domain name with at least three parts.',
  clientConfig: 'How the webhook is called.',
  rules: 'The requests that the webhook is called for.',
  failurePolicy: FAILURE_POLICY,
  matchPolicy: MATCH_POLICY,
  namespaceSelector: NAMESPACES,
  objectSelector: OBJECTS,
  sideEffects: 'None, or NoneOnDryRun. Other webhooks would not be called for a dry run.',
  timeoutSeconds: 'The time limit, from 1 to 30. Default: 10.',
  admissionReviewVersions:
    'The versions of AdmissionReview that the webhook understands, by preference.',
  matchConditions: MATCH_CONDITIONS,
};
const POLICY = {
  paramKind: 'The kind of objects that parametrize the policy.',
  matchConstraints: 'The requests that the policy is for.',
  failurePolicy: FAILURE_POLICY,
  matchConditions: MATCH_CONDITIONS,
  variables: 'Expressions that others can use by name, as variables.NAME.',
};

export const extension: Descriptions = {
  'admissionregistration/v1.Rule': { type: 'Resources.', fields: RULE },
  'admissionregistration/v1.RuleWithOperations': {
    type: 'Operations on resources.',
    fields: { ...RULE, operations: OPERATIONS },
  },
  'admissionregistration/v1.NamedRuleWithOperations': {
    type: 'Operations on resources or single objects.',
    fields: { ...RULE, operations: OPERATIONS, resourceNames: 'The names of objects. Empty: all.' },
  },
  'admissionregistration/v1.ValidatingAdmissionPolicy': {
    type: 'Rules in CEL that requests must meet.',
  },
  'admissionregistration/v1.ValidatingAdmissionPolicySpec': {
    type: 'The rules of a policy.',
    fields: {
      ...POLICY,
      validations: 'Expressions that must be true.',
      auditAnnotations: 'Annotations of the audit log.',
    },
  },
  'admissionregistration/v1.ValidatingAdmissionPolicyStatus': {
    type: 'The state of a policy.',
    fields: {
      typeChecking: 'Problems that type checking has found.',
      conditions: 'Conditions of the policy.',
    },
  },
  'admissionregistration/v1.TypeChecking': {
    type: 'Results of type checking.',
    fields: { expressionWarnings: 'The warnings.' },
  },
  'admissionregistration/v1.ExpressionWarning': {
    type: 'A warning about an expression.',
    fields: { fieldRef: 'The path of the expression in the policy.', warning: 'The warning.' },
  },
  'admissionregistration/v1.ParamKind': { type: 'A kind of parameters.' },
  'admissionregistration/v1.Validation': {
    type: 'An expression that must be true.',
    fields: {
      expression:
        'The CEL expression. Its variables are object, oldObject, request, params, ' +
        'namespaceObject, authorizer and variables.',
      message: 'The message if the expression is false.',
      reason:
        'The reason in the response: Unauthorized, Forbidden, Invalid or RequestEntityTooLarge. Default: Invalid.',
      messageExpression: 'A CEL expression for the message. It takes precedence over message.',
    },
  },
  'admissionregistration/v1.Variable': {
    type: 'A named expression.',
    fields: {
      name: 'The name, a CEL identifier.',
      expression: 'The CEL expression. It is evaluated when it is first used.',
    },
  },
  'admissionregistration/v1.AuditAnnotation': {
    type: 'An annotation of the audit log.',
    fields: {
      key: 'The key, without the name of the policy that is put before it.',
      valueExpression: 'A CEL expression for the value. null: no annotation.',
    },
  },
  'admissionregistration/v1.ValidatingAdmissionPolicyBinding': {
    type: 'Puts a policy into effect, with parameters.',
  },
  'admissionregistration/v1.ValidatingAdmissionPolicyBindingSpec': {
    type: 'The policy, its parameters and the actions for a violation.',
    fields: {
      policyName: 'The name of the policy.',
      paramRef: 'The parameters.',
      matchResources: 'Narrows down the requests.',
      validationActions: 'Deny, Warn and Audit.',
    },
  },
  'admissionregistration/v1.ParamRef': {
    type: 'Selects parameters, by name or by labels.',
    fields: {
      name: 'The name of the object.',
      namespace: 'The namespace of the object. Default: that of the request.',
      selector: 'Selects objects by labels. Each of them is used.',
      parameterNotFoundAction:
        'Policy for a missing parameter object: Allow lets the request pass, Deny rejects it.',
    },
  },
  'admissionregistration/v1.MatchResources': {
    type: 'Requests that a policy is for.',
    fields: {
      namespaceSelector: NAMESPACES,
      objectSelector: OBJECTS,
      resourceRules: 'Requests that match any of these rules.',
      excludeResourceRules: 'Requests that are excluded.',
      matchPolicy: MATCH_POLICY,
    },
  },
  'admissionregistration/v1.MutatingAdmissionPolicy': {
    type: 'Changes in CEL that are made to objects of requests.',
  },
  'admissionregistration/v1.MutatingAdmissionPolicySpec': {
    type: 'The changes of a policy.',
    fields: {
      ...POLICY,
      mutations: 'The changes, in order.',
      reinvocationPolicy: 'Never, or IfNeeded to run again if a later plugin changed the object.',
    },
  },
  'admissionregistration/v1.Mutation': {
    type: 'A change.',
    fields: {
      patchType: 'ApplyConfiguration or JSONPatch.',
      applyConfiguration: 'A change in the form of server-side apply.',
      jsonPatch: 'A change as a JSON patch.',
    },
  },
  'admissionregistration/v1.ApplyConfiguration': {
    type: 'A change in the form of server-side apply.',
    fields: { expression: 'A CEL expression for the configuration, such as Object{spec: …}.' },
  },
  'admissionregistration/v1.JSONPatch': {
    type: 'A change as a JSON patch.',
    fields: { expression: 'A CEL expression for a list of JSONPatch values.' },
  },
  'admissionregistration/v1.MutatingAdmissionPolicyBinding': {
    type: 'Puts a policy into effect, with parameters.',
  },
  'admissionregistration/v1.MutatingAdmissionPolicyBindingSpec': {
    type: 'The policy and its parameters.',
    fields: {
      policyName: 'The name of the policy.',
      paramRef: 'The parameters.',
      matchResources: 'Narrows down the requests.',
    },
  },
  'admissionregistration/v1.ValidatingWebhookConfiguration': {
    type: 'Webhooks that accept or reject requests.',
    fields: { webhooks: 'The webhooks.' },
  },
  'admissionregistration/v1.MutatingWebhookConfiguration': {
    type: 'Webhooks that may change objects of requests.',
    fields: { webhooks: 'The webhooks.' },
  },
  'admissionregistration/v1.ValidatingWebhook': {
    type: 'A webhook that accepts or rejects requests.',
    fields: WEBHOOK,
  },
  'admissionregistration/v1.MutatingWebhook': {
    type: 'A webhook that may change objects of requests.',
    fields: {
      ...WEBHOOK,
      reinvocationPolicy:
        'Never, or IfNeeded to be called again if a later plugin changed the object. Default: Never.',
    },
  },
  'admissionregistration/v1.WebhookClientConfig': {
    type: 'How a webhook is called. Either url or service is set.',
    fields: {
      url: 'The https URL.',
      service: 'A service of the cluster.',
      caBundle:
        'Certificates in PEM, one of which must have signed that of the server. Default: those of the system.',
    },
  },
  'admissionregistration/v1.ServiceReference': {
    type: 'A service.',
    fields: { ...SERVICE, path: 'The path of the URL.' },
  },
  'admissionregistration/v1.MatchCondition': {
    type: 'A condition for calling a webhook or evaluating a policy.',
    fields: {
      name: 'The name, unique in the list.',
      expression: 'A CEL expression with object, oldObject, request and authorizer.',
    },
  },
  'apiextensions/v1.CustomResourceDefinition': { type: 'Defines a kind of custom resources.' },
  'apiextensions/v1.CustomResourceDefinitionSpec': {
    type: 'The definition.',
    fields: {
      group: 'The API group.',
      names: 'The names of the resource.',
      scope: 'Cluster or Namespaced.',
      versions: 'The versions.',
      conversion: 'How objects are converted between versions.',
      preserveUnknownFields:
        'Must be false: unknown fields are removed, unless the schema keeps them.',
    },
  },
  'apiextensions/v1.CustomResourceConversion': {
    type: 'How objects are converted between versions.',
    fields: {
      strategy: 'None to change only apiVersion, or Webhook.',
      webhook: 'The webhook that converts.',
    },
  },
  'apiextensions/v1.WebhookConversion': {
    type: 'A webhook that converts objects.',
    fields: {
      clientConfig: 'How the webhook is called.',
      conversionReviewVersions:
        'The versions of ConversionReview that the webhook understands, by preference.',
    },
  },
  'apiextensions/v1.WebhookClientConfig': {
    type: 'How a webhook is called. Either url or service is set.',
    like: 'admissionregistration/v1.WebhookClientConfig',
  },
  'apiextensions/v1.ServiceReference': {
    type: 'A service.',
    like: 'admissionregistration/v1.ServiceReference',
  },
  'apiextensions/v1.CustomResourceDefinitionVersion': {
    type: 'One version of a custom resource.',
    fields: {
      name: 'The name, such as v1 or v2beta1.',
      served: 'Whether the version is served.',
      storage: 'Whether objects are stored in this version. True for exactly one.',
      deprecated: 'Whether clients get a warning.',
      deprecationWarning: 'The warning. Default: one that names a newer version.',
      schema: 'The schema of the objects.',
      subresources: 'The subresources.',
      additionalPrinterColumns: 'Columns that kubectl get shows. Default: the age.',
      selectableFields: 'Fields that field selectors can use.',
    },
  },
  'apiextensions/v1.SelectableField': {
    type: 'A field that field selectors can use.',
    fields: {
      jsonPath: 'The path of the field, such as .spec.color. It has a string, boolean or integer.',
    },
  },
  'apiextensions/v1.CustomResourceColumnDefinition': {
    type: 'A column that kubectl get shows.',
    fields: {
      name: 'The heading.',
      type: 'integer, number, string, boolean or date.',
      format: 'An OpenAPI format, such as int32 or date-time.',
      description: 'A description of the column.',
      priority: 'Above 0: shown with -o wide only.',
      jsonPath: 'The path of the value, such as .spec.replicas.',
    },
  },
  'apiextensions/v1.CustomResourceDefinitionNames': {
    type: 'The names of a resource.',
    fields: {
      plural: 'The name in paths, in lower case.',
      singular: 'The singular in lower case. Default: the kind in lower case.',
      shortNames: 'Short names for command lines.',
      kind: 'The kind, in CamelCase.',
      listKind: 'The kind of lists. Default: the kind with List.',
      categories: 'Groups of resources for command lines, such as all.',
    },
  },
  'apiextensions/v1.CustomResourceDefinitionCondition': { type: 'A condition of a definition.' },
  'apiextensions/v1.CustomResourceDefinitionStatus': {
    type: 'The state of a definition.',
    fields: {
      conditions: 'Established, NamesAccepted and others.',
      acceptedNames: 'The names that are in use.',
      storedVersions: 'The versions in which objects may be stored.',
    },
  },
  'apiextensions/v1.CustomResourceValidation': {
    type: 'The schema of a version.',
    fields: { openAPIV3Schema: 'The schema, which is structural.' },
  },
  'apiextensions/v1.CustomResourceSubresources': {
    type: 'The subresources of a version.',
    fields: {
      status: 'The status has an endpoint of its own.',
      scale: 'The resource can be scaled.',
    },
  },
  'apiextensions/v1.CustomResourceSubresourceStatus': { type: 'Turns the status subresource on.' },
  'apiextensions/v1.CustomResourceSubresourceScale': {
    type: 'The paths of the values of the scale subresource.',
    fields: {
      specReplicasPath: 'The path of the desired number, such as .spec.replicas.',
      statusReplicasPath: 'The path of the observed number, such as .status.replicas.',
      labelSelectorPath: 'The path of a label selector as text, which autoscalers need.',
    },
  },
  'apiextensions/v1.ConversionReview': {
    type: 'A call of a conversion webhook.',
    fields: { request: 'The objects to convert.', response: 'The converted objects.' },
  },
  'apiextensions/v1.ConversionRequest': {
    type: 'Objects to convert.',
    fields: {
      uid: 'The ID of the call.',
      desiredAPIVersion: 'The version to convert to.',
      objects: 'The objects.',
    },
  },
  'apiextensions/v1.ConversionResponse': {
    type: 'Converted objects.',
    fields: {
      uid: 'The ID of the call.',
      convertedObjects: 'The objects, in the same order.',
      result: 'Success, or the reason of the failure.',
    },
  },
  'apiextensions/v1.JSONSchemaProps': {
    type: 'A schema in the JSON Schema of OpenAPI v3, with extensions of Kubernetes.',
    fields: {
      id: 'Not supported in structural schemas.',
      $schema: 'The URI of the schema language.',
      $ref: 'Not supported.',
      description: 'A description, which kubectl explain shows.',
      type: 'object, array, string, integer, number or boolean.',
      format: 'A format, such as date-time, int64 or uuid.',
      title: 'A title.',
      default: 'The value of a field that is absent.',
      maximum: 'The largest number.',
      exclusiveMaximum: 'Whether the maximum itself is excluded.',
      minimum: 'The smallest number.',
      exclusiveMinimum: 'Whether the minimum itself is excluded.',
      maxLength: 'The largest number of characters.',
      minLength: 'The smallest number of characters.',
      pattern: 'A regular expression (RE2) that a string must match.',
      maxItems: 'The largest number of items.',
      minItems: 'The smallest number of items.',
      uniqueItems: 'Must be false. Use x-kubernetes-list-type: set.',
      multipleOf: 'The number is a multiple of this one.',
      enum: 'The allowed values.',
      maxProperties: 'The largest number of properties.',
      minProperties: 'The smallest number of properties.',
      required: 'Names of properties that must be present.',
      allOf: 'Schemas that must all match.',
      oneOf: 'Schemas of which exactly one must match.',
      anyOf: 'Schemas of which at least one must match.',
      not: 'A schema that must not match.',
      properties: 'Properties with their schemas.',
      additionalProperties: 'The schema of all other properties.',
      patternProperties: 'Not supported.',
      dependencies: 'Not supported.',
      additionalItems: 'Not supported.',
      definitions: 'Not supported.',
      externalDocs: 'A link to documentation.',
      example: 'An example value.',
      nullable: 'Whether null is allowed.',
      'x-kubernetes-preserve-unknown-fields':
        'Whether fields that the schema does not name are kept.',
      'x-kubernetes-embedded-resource':
        'Whether the value is a Kubernetes object with apiVersion, kind and metadata.',
      'x-kubernetes-int-or-string': 'Whether the value is an integer or a string.',
      'x-kubernetes-list-map-keys': 'The fields that identify the items of a list of the type map.',
      'x-kubernetes-list-type': 'How lists are merged: atomic, set or map. Default: atomic.',
      'x-kubernetes-map-type': 'How maps are merged: granular or atomic. Default: granular.',
      'x-kubernetes-validations': 'Rules in CEL that the value must meet.',
    },
  },
  'apiextensions/v1.ValidationRule': {
    type: 'A rule in CEL.',
    fields: {
      rule: 'The expression. self is the value; oldSelf is the one before an update.',
      message: 'The message if the rule is not met.',
      messageExpression: 'A CEL expression for the message. It takes precedence over message.',
      reason:
        'The reason of the error: FieldValueInvalid, FieldValueForbidden, FieldValueRequired or FieldValueDuplicate.',
      fieldPath: 'The field that the error is reported at, relative to this one.',
      optionalOldSelf:
        'Whether a rule with oldSelf is also evaluated without an old value; oldSelf is optional then.',
    },
  },
  'apiextensions/v1.ExternalDocumentation': {
    type: 'A link to documentation.',
    fields: { description: 'A description.', url: 'The URL.' },
  },
  'apiregistration/v1.ServiceReference': { type: 'A service.', fields: SERVICE },
  'apiregistration/v1.APIService': {
    type: 'A group version that this or another API server serves.',
  },
  'apiregistration/v1.APIServiceSpec': {
    type: 'The group version and its server.',
    fields: {
      service: 'The service of the other API server. Absent: this server.',
      group: 'The API group.',
      version: 'The API version.',
      insecureSkipTLSVerify: 'Whether the certificate of the server is not verified.',
      caBundle: 'Certificates in PEM, one of which must have signed that of the server.',
      groupPriorityMinimum:
        'The priority of the group, up to 20000. Groups with a higher one come first.',
      versionPriority:
        'The priority of the version in its group. Versions with a higher one come first.',
    },
  },
  'apiregistration/v1.APIServiceCondition': { type: 'A condition of an APIService.' },
  'apiregistration/v1.APIServiceStatus': {
    type: 'The state of an APIService.',
    fields: { conditions: 'Available, if the server can be reached.' },
  },
  'admission/v1.AdmissionReview': {
    type: 'A call of an admission webhook.',
    fields: { request: 'The request to admit.', response: 'The decision of the webhook.' },
  },
  'admission/v1.AdmissionRequest': {
    type: 'A request to admit.',
    fields: {
      uid: 'The ID of the call.',
      kind: 'The kind of the object, in the version that the webhook has requested.',
      resource: 'The resource, in the version that the webhook has requested.',
      subResource: 'The subresource.',
      requestKind: 'The kind of the object in the original request.',
      requestResource: 'The resource in the original request.',
      requestSubResource: 'The subresource in the original request.',
      name: 'The name of the object. It may be empty for a create.',
      namespace: 'The namespace of the object.',
      operation: 'CREATE, UPDATE, DELETE or CONNECT.',
      userInfo: 'The user of the request.',
      object: 'The object of the request.',
      oldObject: 'The stored object, for updates and deletions.',
      dryRun: 'Whether nothing will be stored.',
      options: 'The options of the operation.',
    },
  },
  'admission/v1.AdmissionResponse': {
    type: 'The decision of a webhook.',
    fields: {
      uid: 'The ID of the call.',
      allowed: 'Whether the request is allowed.',
      status: 'The reason for a rejection.',
      patch: 'A JSON patch, as base64.',
      patchType: 'JSONPatch.',
      auditAnnotations: 'Annotations of the audit log.',
      warnings: 'Warnings for the client.',
    },
  },
};
