// The token that a Secret of type kubernetes.io/service-account-token is given: a JSON web token
// without an end.

import { tokenSigner } from '#machinery/token-keys.ts';

export interface LegacyTokenOf {
  readonly namespace: string;
  readonly secret: string;
  readonly serviceAccount: { readonly name: string; readonly uid: string };
}

/** `key`: PEM, a private key. Throws TypeError for one that tokens cannot be signed with. */
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
