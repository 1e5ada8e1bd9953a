// The resources mutatingwebhookconfigurations and validatingwebhookconfigurations, which have the
// same rules.

import {
  mutatingWebhookConfigurations,
  validatingWebhookConfigurations,
} from '#api/groups/admissionregistration/v1/index.ts';
import type * as admission from '#api/groups/admissionregistration/v1/index.ts';
import {
  validateWebhookConfiguration,
  validateWebhookConfigurationUpdate,
} from '#api/groups/admissionregistration/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { deepEqual } from '#machinery/deep.ts';
import { defineKind } from '#apiserver/catalog/define-kind.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';
import { webhookConfigurationTable } from './tables.ts';

type MutatingWebhookConfiguration = Immutable<admission.MutatingWebhookConfiguration>;
type ValidatingWebhookConfiguration = Immutable<admission.ValidatingWebhookConfiguration>;

const strategy: ResourceStrategy<MutatingWebhookConfiguration | ValidatingWebhookConfiguration> = {
  anyFinalizer: true,
  checksNameOnUpdate: true,
  // An explicit empty list counts as a change, as upstream.
  generation: (configuration, old) => !deepEqual(configuration.webhooks, old.webhooks),
  allowUnconditionalUpdate: false,
  validate: (configuration) => validateWebhookConfiguration(configuration),
  validateUpdate: (configuration, old) => validateWebhookConfigurationUpdate(configuration, old),
};

export const mutatingWebhookConfigurationKind = defineKind<MutatingWebhookConfiguration>({
  type: mutatingWebhookConfigurations,
  strategy,
  table: webhookConfigurationTable,
});

export const validatingWebhookConfigurationKind = defineKind<ValidatingWebhookConfiguration>({
  type: validatingWebhookConfigurations,
  strategy,
  table: webhookConfigurationTable,
});
