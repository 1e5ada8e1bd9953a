// The resource mutatingwebhookconfigurations.

import { mutatingWebhookConfigurations } from '#api/groups/admissionregistration/v1/index.ts';
import type * as admission from '#api/groups/admissionregistration/v1/index.ts';
import {
  validateWebhookConfiguration,
  validateWebhookConfigurationUpdate,
} from '#api/groups/admissionregistration/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { webhookConfigurationTable } from '#apiserver/printers/admission.ts';
import { ResourceStore } from '#apiserver/registry/resource-store.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import type { RegistryServices } from '../services.ts';
import type { ResourceStrategy } from '#apiserver/registry/strategy.ts';
import { webhookWarnings } from './webhook-warnings.ts';

type MutatingWebhookConfiguration = Immutable<admission.MutatingWebhookConfiguration>;

export const mutatingWebhookConfigurationStrategy: ResourceStrategy<MutatingWebhookConfiguration> = {
  anyFinalizer: true,
  checksNameOnUpdate: true,
  generation: true,
  allowUnconditionalUpdate: false,
  validate: (configuration) => validateWebhookConfiguration(configuration),
  validateUpdate: (configuration, old) => validateWebhookConfigurationUpdate(configuration, old),
  warningsOnCreate: webhookWarnings,
  warningsOnUpdate: webhookWarnings,
};

export function mutatingWebhookConfigurationResource(services: RegistryServices): Kind {
  return {
    type: mutatingWebhookConfigurations,
    rest: new ResourceStore<MutatingWebhookConfiguration>({
      ...services,
      type: mutatingWebhookConfigurations,
      strategy: mutatingWebhookConfigurationStrategy,
    }),
    table: webhookConfigurationTable,
  };
}
