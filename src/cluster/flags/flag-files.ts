// Reads the files that flags name. Errors name the flag.

import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { parseYaml, YamlError } from '#api/machinery/codec/index.ts';
import type { ServerAccess } from '#client/http/index.ts';
import { KubeconfigError, loadKubeconfig } from '#client/kubeconfig.ts';
import { UserError } from '../user-error.ts';

/** Returns the text of a file that a flag names. Throws UserError. */
export function readFlagFile(flag: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new UserError(`${flag}: ${(error as Error).message}`, { cause: error });
  }
}

/** Parses the YAML of a file that a flag names. Throws UserError. */
export function parseFlagYaml(flag: string, text: string): unknown {
  try {
    return parseYaml(text);
  } catch (error) {
    if (error instanceof YamlError)
      throw new UserError(`${flag}: ${error.message}`, { cause: error });
    throw error;
  }
}

/** Returns the first certificate of a PEM text. Throws UserError if there is none. */
export function checkAuthority(flag: string, pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (error) {
    throw new UserError(`${flag}: the certificate cannot be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** Checks that the two are a certificate and its key. Throws UserError. */
export function checkKeyPair(
  flag: string,
  { cert, key }: { readonly cert: string; readonly key: string },
): void {
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    throw new UserError(
      `${flag}: the certificate and its key cannot be used: ${(error as Error).message}`,
      {
        cause: error,
      },
    );
  }
}

/** Returns the server and the credentials of a kubeconfig's current context. Throws UserError. */
export async function readKubeconfig(flag: string, path: string): Promise<ServerAccess> {
  try {
    return await loadKubeconfig(path);
  } catch (error) {
    if (error instanceof KubeconfigError)
      throw new UserError(`${flag}: ${error.message}`, { cause: error });
    throw error;
  }
}
