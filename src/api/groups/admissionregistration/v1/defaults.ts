// Defaults of admission's extensions: webhooks and policies.

import type { Defaulters } from '#api/machinery/scheme.ts';
import type {
  MatchResources,
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  MutatingWebhook,
  MutatingWebhookConfiguration,
  Rule,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  ValidatingWebhook,
  ValidatingWebhookConfiguration,
} from './types.ts';

const HTTPS_PORT = 443;
const TIMEOUT_SECONDS = 10;

function setValidatingWebhookConfigurationDefaults({
  webhooks = [],
}: ValidatingWebhookConfiguration): void {
  webhooks.forEach(setWebhookDefaults);
}

function setMutatingWebhookConfigurationDefaults({
  webhooks = [],
}: MutatingWebhookConfiguration): void {
  for (const webhook of webhooks) {
    setWebhookDefaults(webhook);
    webhook.reinvocationPolicy ??= 'Never';
  }
}

function setWebhookDefaults(webhook: ValidatingWebhook | MutatingWebhook): void {
  webhook.failurePolicy ??= 'Fail';
  webhook.matchPolicy ??= 'Equivalent';
  webhook.namespaceSelector ??= {};
  webhook.objectSelector ??= {};
  webhook.timeoutSeconds ??= TIMEOUT_SECONDS;
  const { service } = webhook.clientConfig;
  if (service !== undefined) service.port ??= HTTPS_PORT;
  setRuleDefaults(webhook.rules);
}

function setValidatingAdmissionPolicyDefaults({ spec }: ValidatingAdmissionPolicy): void {
  spec.failurePolicy ??= 'Fail';
  setMatchResourcesDefaults(spec.matchConstraints);
}

function setMutatingAdmissionPolicyDefaults({ spec }: MutatingAdmissionPolicy): void {
  spec.failurePolicy ??= 'Fail';
  setMatchResourcesDefaults(spec.matchConstraints);
}

/** Sets the defaults of both kinds of bindings. */
function setPolicyBindingDefaults({
  spec,
}: ValidatingAdmissionPolicyBinding | MutatingAdmissionPolicyBinding): void {
  setMatchResourcesDefaults(spec.matchResources);
}

function setMatchResourcesDefaults(match: MatchResources | undefined): void {
  if (match === undefined) return;
  match.matchPolicy ??= 'Equivalent';
  match.namespaceSelector ??= {};
  match.objectSelector ??= {};
  setRuleDefaults(match.resourceRules);
  setRuleDefaults(match.excludeResourceRules);
}

function setRuleDefaults(rules: Rule[] | undefined): void {
  for (const rule of rules ?? []) rule.scope ??= '*';
}

/** Defaulters by kind. Kinds without defaults have no entry. */
export const defaulters: Defaulters = {
  MutatingAdmissionPolicy: setMutatingAdmissionPolicyDefaults,
  MutatingAdmissionPolicyBinding: setPolicyBindingDefaults,
  MutatingWebhookConfiguration: setMutatingWebhookConfigurationDefaults,
  ValidatingAdmissionPolicy: setValidatingAdmissionPolicyDefaults,
  ValidatingAdmissionPolicyBinding: setPolicyBindingDefaults,
  ValidatingWebhookConfiguration: setValidatingWebhookConfigurationDefaults,
};
