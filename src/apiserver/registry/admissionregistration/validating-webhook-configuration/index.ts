// The resource validatingwebhookconfigurations.

import { validatingWebhookConfigurations } from '../../../../api/admissionregistration/v1/index.ts';
import type * as admission from '../../../../api/admissionregistration/v1/index.ts';
import {
  validateWebhookConfiguration,
  validateWebhookConfigurationUpdate,
} from '../../../../api/admissionregistration/v1/validation/index.ts';
import type { Immutable } from '../../../../api/meta/v1/index.ts';
import { webhookConfigurationTable } from '../../../printers/admission.ts';
import { ResourceStore } from '../../resource-store.ts';
import type { ServedResource } from '../../rest.ts';
import type { RegistryServices } from '../../services.ts';
import type { ResourceStrategy } from '../../strategy.ts';
import { webhookWarnings } from '../webhook-warnings.ts';

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

export function validatingWebhookConfigurationResource(services: RegistryServices): ServedResource {
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
