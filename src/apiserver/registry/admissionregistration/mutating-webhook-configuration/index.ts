// The resource mutatingwebhookconfigurations.

import { mutatingWebhookConfigurations } from '../../../../api/admissionregistration/v1/index.ts';
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

export function mutatingWebhookConfigurationResource(services: RegistryServices): ServedResource {
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
