// Generated from schema.ts by `npm run generate`. Do not edit.

import type * as core from '#api/groups/core/v1/types.ts';
import type * as meta from '#api/machinery/meta/v1/types.ts';

export interface AdmissionConfiguration extends meta.TypeMeta {
  plugins?: AdmissionPluginConfiguration[];
}

export interface AdmissionPluginConfiguration {
  name: string;
  path: string;
  configuration?: unknown;
}

export interface WebhookAdmissionConfiguration extends meta.TypeMeta {
  kubeConfigFile: string;
}

export interface ResourceQuotaConfiguration extends meta.TypeMeta {
  limitedResources?: LimitedResource[];
}

export interface LimitedResource {
  apiGroup: string;
  resource: string;
  matchContains?: string[];
  matchScopes?: core.ScopedResourceSelectorRequirement[];
}

export interface AuthenticationConfiguration extends meta.TypeMeta {
  jwt?: JWTAuthenticator[];
  anonymous?: AnonymousAuthConfig;
}

export interface AnonymousAuthConfig {
  enabled: boolean;
  conditions?: AnonymousAuthCondition[];
}

export interface AnonymousAuthCondition {
  path: string;
}

export interface JWTAuthenticator {
  issuer: Issuer;
  claimValidationRules?: ClaimValidationRule[];
  claimMappings: ClaimMappings;
  userValidationRules?: UserValidationRule[];
}

export interface Issuer {
  url: string;
  discoveryURL?: string;
  certificateAuthority?: string;
  audiences?: string[];
  audienceMatchPolicy?: string;
  egressSelectorType?: string;
}

export interface ClaimValidationRule {
  claim?: string;
  requiredValue?: string;
  expression?: string;
  message?: string;
}

export interface ClaimMappings {
  username: PrefixedClaimOrExpression;
  groups: PrefixedClaimOrExpression;
  uid: ClaimOrExpression;
  extra?: ExtraMapping[];
}

export interface PrefixedClaimOrExpression {
  claim?: string;
  prefix?: string;
  expression?: string;
}

export interface ClaimOrExpression {
  claim?: string;
  expression?: string;
}

export interface ExtraMapping {
  key: string;
  valueExpression: string;
}

export interface UserValidationRule {
  expression: string;
  message?: string;
}

export interface AuthorizationConfiguration extends meta.TypeMeta {
  authorizers?: AuthorizerConfiguration[];
}

export interface AuthorizerConfiguration {
  type: string;
  name: string;
  webhook?: WebhookConfiguration;
}

export interface WebhookConfiguration {
  authorizedTTL: string;
  cacheAuthorizedRequests?: boolean;
  unauthorizedTTL: string;
  cacheUnauthorizedRequests?: boolean;
  timeout: string;
  subjectAccessReviewVersion: string;
  matchConditionSubjectAccessReviewVersion: string;
  failurePolicy: string;
  connectionInfo: WebhookConnectionInfo;
  matchConditions?: WebhookMatchCondition[];
}

export interface WebhookConnectionInfo {
  type: string;
  kubeConfigFile?: string;
}

export interface WebhookMatchCondition {
  expression: string;
}
