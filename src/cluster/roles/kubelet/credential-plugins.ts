// The options of `cox kubelet` about credential provider plugins.

import { accessSync, constants, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseYaml, YamlError } from '#api/machinery/codec/index.ts';
import type { KubeletConfig } from '#kubelet/config.ts';
import {
  CredentialProviderConfigError,
  readCredentialProviders,
} from '#kubelet/images/credential-provider-config.ts';
import { UserError } from '../../user-error.ts';
import { readFlagFile } from '../../flags/flag-files.ts';

export interface CredentialPluginOptions {
  /** A CredentialProviderConfig in YAML. */
  readonly imageCredentialProviderConfig?: string;
  /** The directory of the plugins' programs. */
  readonly imageCredentialProviderBinDir?: string;
}

const FILE = '--image-credential-provider-config';
const DIRECTORY = '--image-credential-provider-bin-dir';

/** Returns undefined without plugins. Throws UserError. */
export function credentialPlugins(
  options: CredentialPluginOptions,
): KubeletConfig['credentialPlugins'] {
  const { imageCredentialProviderConfig: file = '', imageCredentialProviderBinDir: given = '' } =
    options;
  if (file === '' && given === '') return undefined;
  if (file === '' || given === '') throw new UserError(`${FILE} and ${DIRECTORY} go together`);
  const directory = resolve(given);
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true)
    throw new UserError(`${DIRECTORY}: plugin binary directory ${directory} did not exist`);
  try {
    const providers = readCredentialProviders(parseYaml(readFlagFile(FILE, file)));
    for (const { name } of providers) checkProgram(join(directory, name));
    return { providers, directory };
  } catch (error) {
    if (error instanceof CredentialProviderConfigError || error instanceof YamlError)
      throw new UserError(`${FILE}: ${file}: ${error.message}`, { cause: error });
    throw error;
  }
}

function checkProgram(path: string): void {
  try {
    accessSync(path, constants.X_OK);
  } catch (error) {
    throw new UserError(`${DIRECTORY}: plugin binary executable ${path} did not exist`, {
      cause: error,
    });
  }
}
