// The settings of admission plugins, from the file of --admission-control-config-file.

import { readFileSync } from 'node:fs';
import { dirname, isAbsolute, resolve } from 'node:path';
import {
  type AdmissionSettings,
  readAdmissionConfiguration,
} from '#apiserver/admission/configuration-file/read.ts';
import { ADMISSION_PLUGIN_NAMES } from '#apiserver/admission/defaults.ts';
import type { ApiServerConfig } from '#apiserver/config.ts';
import { loadKubeconfigUsers } from '#client/kubeconfig.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { selectAdmissionPlugins } from './admission-plugins.ts';
import type { AccessOptions } from './options.ts';
import { UserError } from '../user-error.ts';

export type AdmissionFlags = Pick<
  AccessOptions,
  'admissionControlConfigFile' | 'disableAdmissionPlugins' | 'enableAdmissionPlugins'
>;

type Config = Pick<
  ApiServerConfig,
  | 'admissionSettings'
  | 'disableAdmissionPlugins'
  | 'enableAdmissionPlugins'
  | 'podSecurity'
  | 'webhookKubeconfigs'
>;

/** The plugins that run only if they are enabled, by their settings. */
const OPT_IN: Readonly<Record<string, string>> = {
  imagePolicy: 'ImagePolicyWebhook',
  eventLimits: 'EventRateLimit',
  nodeSelectors: 'PodNodeSelector',
  tolerations: 'PodTolerationRestriction',
};
const FLAG = '--admission-control-config-file';

/** Returns the settings that the flag describes. Rejects with UserError. */
export async function admissionOf(
  flags: AdmissionFlags,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): Promise<Config> {
  const { admissionControlConfigFile: file, enableAdmissionPlugins = [] } = flags;
  const { enabled, disabled, warnings } = selectAdmissionPlugins(
    enableAdmissionPlugins,
    flags.disableAdmissionPlugins ?? [],
    new Set(ADMISSION_PLUGIN_NAMES),
  );
  for (const warning of warnings) logger.warn(warning);
  const chosen = {
    ...(enabled.length > 0 && { enableAdmissionPlugins: enabled }),
    ...(disabled.length > 0 && { disableAdmissionPlugins: disabled }),
  };
  const settings = file === undefined ? undefined : await read(resolve(file), clock);
  if (
    enableAdmissionPlugins.includes('EventRateLimit') &&
    settings?.plugins.eventLimits === undefined
  )
    throw new UserError(`the admission plugin EventRateLimit needs limits: see ${FLAG}`);
  if (
    enableAdmissionPlugins.includes('ImagePolicyWebhook') &&
    settings?.plugins.imagePolicy === undefined
  )
    throw new UserError(
      `the admission plugin ImagePolicyWebhook needs a configuration: see ${FLAG}`,
    );
  if (settings === undefined) return chosen;
  const { podSecurity, plugins, webhookKubeconfigs } = settings;
  for (const [setting, name] of Object.entries(OPT_IN))
    if (setting in plugins && !enableAdmissionPlugins.includes(name))
      logger.warn(`${FLAG}: ${name} is configured, but the plugin is not enabled`);
  return {
    ...chosen,
    ...(podSecurity !== undefined && { podSecurity }),
    admissionSettings: plugins,
    webhookKubeconfigs,
  };
}

async function read(path: string, clock: Clock): Promise<AdmissionSettings> {
  try {
    const settings = readAdmissionConfiguration(readFileSync(path, 'utf8'), {
      read: (name) => readFileSync(resolve(dirname(path), name), 'utf8'),
      kubeconfig,
    });
    for (const each of Object.values(settings.webhookKubeconfigs))
      await loadKubeconfigUsers(each, clock);
    return settings;
  } catch (error) {
    throw new UserError(`${FLAG}: ${path}: ${errorMessage(error)}`, { cause: error });
  }
}

function kubeconfig(path: string): string {
  if (isAbsolute(path)) return path;
  throw new UserError(
    `kubeConfigFile: Invalid value: ${JSON.stringify(path)}: must be an absolute file path`,
  );
}
