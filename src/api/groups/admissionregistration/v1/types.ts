// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as meta from '#api/machinery/meta/v1/types.ts';

export interface Rule {
  apiGroups?: string[];
  apiVersions?: string[];
  resources?: string[];
  scope?: ScopeType;
}

export type ScopeType = 'Cluster' | 'Namespaced' | '*';

export type FailurePolicyType = 'Ignore' | 'Fail';

export type ParameterNotFoundActionType = 'Allow' | 'Deny' | (string & {});

export type MatchPolicyType = 'Exact' | 'Equivalent';

export type SideEffectClass = 'Unknown' | 'None' | 'Some' | 'NoneOnDryRun';

export interface ValidatingAdmissionPolicy extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  spec: ValidatingAdmissionPolicySpec;
  status: ValidatingAdmissionPolicyStatus;
}

export interface ValidatingAdmissionPolicyStatus {
  observedGeneration?: number;
  typeChecking?: TypeChecking;
  conditions?: meta.Condition[];
}

export interface TypeChecking {
  expressionWarnings?: ExpressionWarning[];
}

export interface ExpressionWarning {
  fieldRef: string;
  warning: string;
}

export interface ValidatingAdmissionPolicyList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: ValidatingAdmissionPolicy[];
}

export interface ValidatingAdmissionPolicySpec {
  paramKind?: ParamKind;
  matchConstraints?: MatchResources;
  validations?: Validation[];
  failurePolicy?: FailurePolicyType;
  auditAnnotations?: AuditAnnotation[];
  matchConditions?: MatchCondition[];
  variables?: Variable[];
}

export interface ParamKind {
  apiVersion?: string;
  kind?: string;
}

export interface Validation {
  expression: string;
  message?: string;
  reason?: meta.StatusReason;
  messageExpression?: string;
}

export interface Variable {
  name: string;
  expression: string;
}

export interface AuditAnnotation {
  key: string;
  valueExpression: string;
}

export interface ValidatingAdmissionPolicyBinding extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  spec: ValidatingAdmissionPolicyBindingSpec;
}

export interface ValidatingAdmissionPolicyBindingList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: ValidatingAdmissionPolicyBinding[];
}

export interface ValidatingAdmissionPolicyBindingSpec {
  policyName?: string;
  paramRef?: ParamRef;
  matchResources?: MatchResources;
  validationActions?: ValidationAction[];
}

export interface ParamRef {
  name?: string;
  namespace?: string;
  selector?: meta.LabelSelector;
  parameterNotFoundAction?: ParameterNotFoundActionType;
}

export interface MatchResources {
  namespaceSelector?: meta.LabelSelector;
  objectSelector?: meta.LabelSelector;
  resourceRules?: NamedRuleWithOperations[];
  excludeResourceRules?: NamedRuleWithOperations[];
  matchPolicy?: MatchPolicyType;
}

export type ValidationAction = 'Deny' | 'Warn' | 'Audit';

export interface NamedRuleWithOperations extends RuleWithOperations {
  resourceNames?: string[];
}

export interface ValidatingWebhookConfiguration extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  webhooks?: ValidatingWebhook[];
}

export interface ValidatingWebhookConfigurationList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: ValidatingWebhookConfiguration[];
}

export interface MutatingWebhookConfiguration extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  webhooks?: MutatingWebhook[];
}

export interface MutatingWebhookConfigurationList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: MutatingWebhookConfiguration[];
}

export interface ValidatingWebhook {
  name: string;
  clientConfig: WebhookClientConfig;
  rules?: RuleWithOperations[];
  failurePolicy?: FailurePolicyType;
  matchPolicy?: MatchPolicyType;
  namespaceSelector?: meta.LabelSelector;
  objectSelector?: meta.LabelSelector;
  sideEffects: SideEffectClass;
  timeoutSeconds?: number;
  admissionReviewVersions: string[];
  matchConditions?: MatchCondition[];
}

export interface MutatingWebhook {
  name: string;
  clientConfig: WebhookClientConfig;
  rules?: RuleWithOperations[];
  failurePolicy?: FailurePolicyType;
  matchPolicy?: MatchPolicyType;
  namespaceSelector?: meta.LabelSelector;
  objectSelector?: meta.LabelSelector;
  sideEffects: SideEffectClass;
  timeoutSeconds?: number;
  admissionReviewVersions: string[];
  reinvocationPolicy?: ReinvocationPolicyType;
  matchConditions?: MatchCondition[];
}

export interface MutatingAdmissionPolicy extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  spec: MutatingAdmissionPolicySpec;
}

export interface MutatingAdmissionPolicyList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: MutatingAdmissionPolicy[];
}

export interface MutatingAdmissionPolicySpec {
  paramKind?: ParamKind;
  matchConstraints?: MatchResources;
  variables?: Variable[];
  mutations?: Mutation[];
  failurePolicy?: FailurePolicyType;
  matchConditions?: MatchCondition[];
  reinvocationPolicy?: ReinvocationPolicyType;
}

export interface Mutation {
  patchType: PatchType;
  applyConfiguration?: ApplyConfiguration;
  jsonPatch?: JSONPatch;
}

export type PatchType = 'ApplyConfiguration' | 'JSONPatch';

export interface ApplyConfiguration {
  expression?: string;
}

export interface JSONPatch {
  expression?: string;
}

export interface MutatingAdmissionPolicyBinding extends meta.TypeMeta {
  metadata: meta.ObjectMeta;
  spec: MutatingAdmissionPolicyBindingSpec;
}

export interface MutatingAdmissionPolicyBindingList extends meta.TypeMeta {
  metadata: meta.ListMeta;
  items: MutatingAdmissionPolicyBinding[];
}

export interface MutatingAdmissionPolicyBindingSpec {
  policyName?: string;
  paramRef?: ParamRef;
  matchResources?: MatchResources;
}

export type ReinvocationPolicyType = 'Never' | 'IfNeeded';

export interface RuleWithOperations extends Rule {
  operations?: OperationType[];
}

export type OperationType = '*' | 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

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

export interface MatchCondition {
  name: string;
  expression: string;
}
