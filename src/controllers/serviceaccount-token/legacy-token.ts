// Signs the token of a Secret of type kubernetes.io/service-account-token: a JSON web token without
// an expiration.

import { tokenSigner } from '#machinery/token-keys.ts';

export interface LegacyTokenOf {
  readonly namespace: string;
  readonly secret: string;
  readonly serviceAccount: { readonly name: string; readonly uid: string };
}

/**
 * Returns a function that signs tokens. `key`: a private key as PEM. Throws TypeError for a key
 * that cannot sign tokens.
 */
export function legacyTokenSigner(key: string): (of: LegacyTokenOf) => string {
  const signer = tokenSigner(key);
  return ({ namespace, secret, serviceAccount }) =>
    signer.sign({
      iss: 'kubernetes/serviceaccount',
      'kubernetes.io/serviceaccount/namespace': namespace,
      'kubernetes.io/serviceaccount/secret.name': secret,
      'kubernetes.io/serviceaccount/service-account.name': serviceAccount.name,
      'kubernetes.io/serviceaccount/service-account.uid': serviceAccount.uid,
      sub: `system:serviceaccount:${namespace}:${serviceAccount.name}`,
    });
}
