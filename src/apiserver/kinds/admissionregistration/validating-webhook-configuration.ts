// The resource validatingwebhookconfigurations.

import { validatingWebhookConfigurations } from '#api/groups/admissionregistration/v1/index.ts';
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

type ValidatingWebhookConfiguration = Immutable<admission.ValidatingWebhookConfiguration>;

export const validatingWebhookConfigurationStrategy: ResourceStrategy<ValidatingWebhookConfiguration> = {
  anyFinalizer: true,
  checksNameOnUpdate: true,
  generation: true,
  allowUnconditionalUpdate: false,
  validate: (configuration) => validateWebhookConfiguration(configuration),
  validateUpdate: (configuration, old) => validateWebhookConfigurationUpdate(configuration, old),
  warningsOnCreate: webhookWarnings,
  warningsOnUpdate: webhookWarnings,
};

export function validatingWebhookConfigurationResource(services: RegistryServices): Kind {
  return {
    type: validatingWebhookConfigurations,
    rest: new ResourceStore<ValidatingWebhookConfiguration>({
      ...services,
      type: validatingWebhookConfigurations,
      strategy: validatingWebhookConfigurationStrategy,
    }),
    table: webhookConfigurationTable,
  };
}
