// The configuration files of an API server, apiserver.config.k8s.io/v1: the only list of their
// fields. They are read from disk and never served. `npm run generate` makes types.ts and index.ts.

import { f, groupVersion, kind, message } from '#api/machinery/schema/builder.ts';

export const schema = groupVersion(
  'apiserver.config.k8s.io',
  'v1',
  'io.k8s.apiserver.pkg.apis.apiserver.v1',
  {
    AdmissionConfiguration: kind(() => [f('plugins?', 1, '[]AdmissionPluginConfiguration')]),
    AdmissionPluginConfiguration: message(() => [
      f('name', 1, 'string'),
      f('path', 2, 'string'),
      f('configuration?', 3, '*json'),
    ]),
    WebhookAdmissionConfiguration: kind(() => [f('kubeConfigFile', 1, 'string')]),
    ResourceQuotaConfiguration: kind(() => [f('limitedResources?', 1, '[]LimitedResource')]),
    LimitedResource: message(() => [
      f('apiGroup', 1, 'string'),
      f('resource', 2, 'string'),
      f('matchContains?', 3, '[]string'),
      f('matchScopes?', 4, '[]core/v1.ScopedResourceSelectorRequirement'),
    ]),
    AuthenticationConfiguration: kind(() => [
      f('jwt?', 1, '[]JWTAuthenticator'),
      f('anonymous?', 2, '*AnonymousAuthConfig'),
    ]),
    AnonymousAuthConfig: message(() => [
      f('enabled', 1, 'bool'),
      f('conditions?', 2, '[]AnonymousAuthCondition'),
    ]),
    AnonymousAuthCondition: message(() => [f('path', 1, 'string')]),
    JWTAuthenticator: message(() => [
      f('issuer', 1, 'Issuer'),
      f('claimValidationRules?', 2, '[]ClaimValidationRule'),
      f('claimMappings', 3, 'ClaimMappings'),
      f('userValidationRules?', 4, '[]UserValidationRule'),
    ]),
    Issuer: message(() => [
      f('url', 1, 'string'),
      f('discoveryURL?', 2, '*string'),
      f('certificateAuthority?', 3, 'string'),
      f('audiences?', 4, '[]string'),
      f('audienceMatchPolicy?', 5, 'string'),
      f('egressSelectorType?', 6, 'string'),
    ]),
    ClaimValidationRule: message(() => [
      f('claim?', 1, 'string'),
      f('requiredValue?', 2, 'string'),
      f('expression?', 3, 'string'),
      f('message?', 4, 'string'),
    ]),
    ClaimMappings: message(() => [
      f('username', 1, 'PrefixedClaimOrExpression'),
      f('groups', 2, 'PrefixedClaimOrExpression'),
      f('uid', 3, 'ClaimOrExpression'),
      f('extra?', 4, '[]ExtraMapping'),
    ]),
    PrefixedClaimOrExpression: message(() => [
      f('claim?', 1, 'string'),
      f('prefix?', 2, '*string'),
      f('expression?', 3, 'string'),
    ]),
    ClaimOrExpression: message(() => [f('claim?', 1, 'string'), f('expression?', 2, 'string')]),
    ExtraMapping: message(() => [f('key', 1, 'string'), f('valueExpression', 2, 'string')]),
    UserValidationRule: message(() => [f('expression', 1, 'string'), f('message?', 2, 'string')]),
    AuthorizationConfiguration: kind(() => [f('authorizers?', 1, '[]AuthorizerConfiguration')]),
    AuthorizerConfiguration: message(() => [
      f('type', 1, 'string'),
      f('name', 2, 'string'),
      f('webhook?', 3, '*WebhookConfiguration'),
    ]),
    WebhookConfiguration: message(() => [
      f('authorizedTTL', 1, 'duration'),
      f('cacheAuthorizedRequests?', 2, '*bool'),
      f('unauthorizedTTL', 3, 'duration'),
      f('cacheUnauthorizedRequests?', 4, '*bool'),
      f('timeout', 5, 'duration'),
      f('subjectAccessReviewVersion', 6, 'string'),
      f('matchConditionSubjectAccessReviewVersion', 7, 'string'),
      f('failurePolicy', 8, 'string'),
      f('connectionInfo', 9, 'WebhookConnectionInfo'),
      f('matchConditions?', 10, '[]WebhookMatchCondition'),
    ]),
    WebhookConnectionInfo: message(() => [
      f('type', 1, 'string'),
      f('kubeConfigFile?', 2, '*string'),
    ]),
    WebhookMatchCondition: message(() => [f('expression', 1, 'string')]),
  },
);
