// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as meta from '#api/machinery/meta/v1/types.ts';

/** Resources. */
export interface Rule {
  /** The API groups. "*": all. */
  apiGroups?: string[];
  /** The API versions. "*": all. */
  apiVersions?: string[];
  /** The resources, also with a subresource: pods, pods/log, *\/scale, *, *\/*. */
  resources?: string[];
  /** Cluster, Namespaced or "*". Default: "*". */
  scope?: ScopeType;
}

export type ScopeType = 'Cluster' | 'Namespaced' | '*';

export type FailurePolicyType = 'Ignore' | 'Fail';

export type ParameterNotFoundActionType = 'Allow' | 'Deny' | (string & {});

export type MatchPolicyType = 'Exact' | 'Equivalent';

export type SideEffectClass = 'Unknown' | 'None' | 'Some' | 'NoneOnDryRun';

/** Rules in CEL that requests must meet. */
export interface ValidatingAdmissionPolicy extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: ValidatingAdmissionPolicySpec;
  /** The observed state. */
  status: ValidatingAdmissionPolicyStatus;
}

/** The state of a policy. */
export interface ValidatingAdmissionPolicyStatus {
  /** The generation of the object that this status describes. */
  observedGeneration?: number;
  /** Problems that type checking has found. */
  typeChecking?: TypeChecking;
  /** Conditions of the policy. */
  conditions?: meta.Condition[];
}

/** Results of type checking. */
export interface TypeChecking {
  /** The warnings. */
  expressionWarnings?: ExpressionWarning[];
}

/** A warning about an expression. */
export interface ExpressionWarning {
  /** The path of the expression in the policy. */
  fieldRef: string;
  /** The warning. */
  warning: string;
}

/** A list of ValidatingAdmissionPolicy objects. */
export interface ValidatingAdmissionPolicyList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: ValidatingAdmissionPolicy[];
}

/** The rules of a policy. */
export interface ValidatingAdmissionPolicySpec {
  /** The kind of objects that parametrize the policy. */
  paramKind?: ParamKind;
  /** The requests that the policy is for. */
  matchConstraints?: MatchResources;
  /** Expressions that must be true. */
  validations?: Validation[];
  /** Policy for errors: Ignore lets the request pass, Fail rejects it. Default: Fail. */
  failurePolicy?: FailurePolicyType;
  /** Annotations of the audit log. */
  auditAnnotations?: AuditAnnotation[];
  /** CEL expressions that must be true. At most 64. */
  matchConditions?: MatchCondition[];
  /** Expressions that others can use by name, as variables.NAME. */
  variables?: Variable[];
}

/** A kind of parameters. */
export interface ParamKind {
  /** APIVersion defines the API group and version that the object is written in, such as v1 or apps/v1. */
  apiVersion?: string;
  /** The kind of object that it is, in CamelCase. */
  kind?: string;
}

/** An expression that must be true. */
export interface Validation {
  /**
   * The CEL expression. Its variables are object, oldObject, request, params, namespaceObject, authorizer and
   * variables.
   */
  expression: string;
  /** The message if the expression is false. */
  message?: string;
  /** The reason in the response: Unauthorized, Forbidden, Invalid or RequestEntityTooLarge. Default: Invalid. */
  reason?: meta.StatusReason;
  /** A CEL expression for the message. It takes precedence over message. */
  messageExpression?: string;
}

/** A named expression. */
export interface Variable {
  /** The name, a CEL identifier. */
  name: string;
  /** The CEL expression. It is evaluated when it is first used. */
  expression: string;
}

/** An annotation of the audit log. */
export interface AuditAnnotation {
  /** The key, without the name of the policy that is put before it. */
  key: string;
  /** A CEL expression for the value. null: no annotation. */
  valueExpression: string;
}

/** Puts a policy into effect, with parameters. */
export interface ValidatingAdmissionPolicyBinding extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: ValidatingAdmissionPolicyBindingSpec;
}

/** A list of ValidatingAdmissionPolicyBinding objects. */
export interface ValidatingAdmissionPolicyBindingList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: ValidatingAdmissionPolicyBinding[];
}

/** The policy, its parameters and the actions for a violation. */
export interface ValidatingAdmissionPolicyBindingSpec {
  /** The name of the policy. */
  policyName?: string;
  /** The parameters. */
  paramRef?: ParamRef;
  /** Narrows down the requests. */
  matchResources?: MatchResources;
  /** Deny, Warn and Audit. */
  validationActions?: ValidationAction[];
}

/** Selects parameters, by name or by labels. */
export interface ParamRef {
  /** The name of the object. */
  name?: string;
  /** The namespace of the object. Default: that of the request. */
  namespace?: string;
  /** Selects objects by labels. Each of them is used. */
  selector?: meta.LabelSelector;
  /** Policy for a missing parameter object: Allow lets the request pass, Deny rejects it. */
  parameterNotFoundAction?: ParameterNotFoundActionType;
}

/** Requests that a policy is for. */
export interface MatchResources {
  /** Selects namespaces by labels. Default: all. */
  namespaceSelector?: meta.LabelSelector;
  /** Selects objects by labels, old or new. Default: all. */
  objectSelector?: meta.LabelSelector;
  /** Requests that match any of these rules. */
  resourceRules?: NamedRuleWithOperations[];
  /** Requests that are excluded. */
  excludeResourceRules?: NamedRuleWithOperations[];
  /** Exact, or Equivalent to match other versions of a resource, too. Default: Equivalent. */
  matchPolicy?: MatchPolicyType;
}

export type ValidationAction = 'Deny' | 'Warn' | 'Audit';

/** Operations on resources or single objects. */
export interface NamedRuleWithOperations extends RuleWithOperations {
  /** The names of objects. Empty: all. */
  resourceNames?: string[];
}

/** Webhooks that accept or reject requests. */
export interface ValidatingWebhookConfiguration extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The webhooks. */
  webhooks?: ValidatingWebhook[];
}

/** A list of ValidatingWebhookConfiguration objects. */
export interface ValidatingWebhookConfigurationList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: ValidatingWebhookConfiguration[];
}

/** Webhooks that may change objects of requests. */
export interface MutatingWebhookConfiguration extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The webhooks. */
  webhooks?: MutatingWebhook[];
}

/** A list of MutatingWebhookConfiguration objects. */
export interface MutatingWebhookConfigurationList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: MutatingWebhookConfiguration[];
}

/** A webhook that accepts or rejects requests. */
export interface ValidatingWebhook {
  /** The name, a domain name with at least three parts. */
  name: string;
  /** How the webhook is called. */
  clientConfig: WebhookClientConfig;
  /** The requests that the webhook is called for. */
  rules?: RuleWithOperations[];
  /** Policy for errors: Ignore lets the request pass, Fail rejects it. Default: Fail. */
  failurePolicy?: FailurePolicyType;
  /** Exact, or Equivalent to match other versions of a resource, too. Default: Equivalent. */
  matchPolicy?: MatchPolicyType;
  /** Selects namespaces by labels. Default: all. */
  namespaceSelector?: meta.LabelSelector;
  /** Selects objects by labels, old or new. Default: all. */
  objectSelector?: meta.LabelSelector;
  /** None, or NoneOnDryRun. Other webhooks would not be called for a dry run. */
  sideEffects: SideEffectClass;
  /** The time limit, from 1 to 30. Default: 10. */
  timeoutSeconds?: number;
  /** The versions of AdmissionReview that the webhook understands, by preference. */
  admissionReviewVersions: string[];
  /** CEL expressions that must be true. At most 64. */
  matchConditions?: MatchCondition[];
}

/** A webhook that may change objects of requests. */
export interface MutatingWebhook {
  /** The name, a domain name with at least three parts. */
  name: string;
  /** How the webhook is called. */
  clientConfig: WebhookClientConfig;
  /** The requests that the webhook is called for. */
  rules?: RuleWithOperations[];
  /** Policy for errors: Ignore lets the request pass, Fail rejects it. Default: Fail. */
  failurePolicy?: FailurePolicyType;
  /** Exact, or Equivalent to match other versions of a resource, too. Default: Equivalent. */
  matchPolicy?: MatchPolicyType;
  /** Selects namespaces by labels. Default: all. */
  namespaceSelector?: meta.LabelSelector;
  /** Selects objects by labels, old or new. Default: all. */
  objectSelector?: meta.LabelSelector;
  /** None, or NoneOnDryRun. Other webhooks would not be called for a dry run. */
  sideEffects: SideEffectClass;
  /** The time limit, from 1 to 30. Default: 10. */
  timeoutSeconds?: number;
  /** The versions of AdmissionReview that the webhook understands, by preference. */
  admissionReviewVersions: string[];
  /** Never, or IfNeeded to be called again if a later plugin changed the object. Default: Never. */
  reinvocationPolicy?: ReinvocationPolicyType;
  /** CEL expressions that must be true. At most 64. */
  matchConditions?: MatchCondition[];
}

/** Changes in CEL that are made to objects of requests. */
export interface MutatingAdmissionPolicy extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: MutatingAdmissionPolicySpec;
}

/** A list of MutatingAdmissionPolicy objects. */
export interface MutatingAdmissionPolicyList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: MutatingAdmissionPolicy[];
}

/** The changes of a policy. */
export interface MutatingAdmissionPolicySpec {
  /** The kind of objects that parametrize the policy. */
  paramKind?: ParamKind;
  /** The requests that the policy is for. */
  matchConstraints?: MatchResources;
  /** Expressions that others can use by name, as variables.NAME. */
  variables?: Variable[];
  /** The changes, in order. */
  mutations?: Mutation[];
  /** Policy for errors: Ignore lets the request pass, Fail rejects it. Default: Fail. */
  failurePolicy?: FailurePolicyType;
  /** CEL expressions that must be true. At most 64. */
  matchConditions?: MatchCondition[];
  /** Never, or IfNeeded to run again if a later plugin changed the object. */
  reinvocationPolicy?: ReinvocationPolicyType;
}

/** A change. */
export interface Mutation {
  /** ApplyConfiguration or JSONPatch. */
  patchType: PatchType;
  /** A change in the form of server-side apply. */
  applyConfiguration?: ApplyConfiguration;
  /** A change as a JSON patch. */
  jsonPatch?: JSONPatch;
}

export type PatchType = 'ApplyConfiguration' | 'JSONPatch';

/** A change in the form of server-side apply. */
export interface ApplyConfiguration {
  /** A CEL expression for the configuration, such as Object{spec: …}. */
  expression?: string;
}

/** A change as a JSON patch. */
export interface JSONPatch {
  /** A CEL expression for a list of JSONPatch values. */
  expression?: string;
}

/** Puts a policy into effect, with parameters. */
export interface MutatingAdmissionPolicyBinding extends meta.TypeMeta {
  /** Standard object's metadata: name, namespace, labels, annotations, owners. */
  metadata: meta.ObjectMeta;
  /** The desired state. */
  spec: MutatingAdmissionPolicyBindingSpec;
}

/** A list of MutatingAdmissionPolicyBinding objects. */
export interface MutatingAdmissionPolicyBindingList extends meta.TypeMeta {
  /** The version that the list was read at, and where its next page begins. */
  metadata: meta.ListMeta;
  /** The objects of the list. */
  items: MutatingAdmissionPolicyBinding[];
}

/** The policy and its parameters. */
export interface MutatingAdmissionPolicyBindingSpec {
  /** The name of the policy. */
  policyName?: string;
  /** The parameters. */
  paramRef?: ParamRef;
  /** Narrows down the requests. */
  matchResources?: MatchResources;
}

export type ReinvocationPolicyType = 'Never' | 'IfNeeded';

/** Operations on resources. */
export interface RuleWithOperations extends Rule {
  /** CREATE, UPDATE, DELETE, CONNECT or "*". */
  operations?: OperationType[];
}

export type OperationType = '*' | 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

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

/** A condition for calling a webhook or evaluating a policy. */
export interface MatchCondition {
  /** The name, unique in the list. */
  name: string;
  /** A CEL expression with object, oldObject, request and authorizer. */
  expression: string;
}
