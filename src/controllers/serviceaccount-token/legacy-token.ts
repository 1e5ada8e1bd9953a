// The token that a Secret of type kubernetes.io/service-account-token is given: a JSON web token without an end.

import { createPrivateKey, sign } from 'node:crypto';

export interface LegacyTokenOf {
  readonly namespace: string;
  readonly secret: string;
  readonly serviceAccount: { readonly name: string; readonly uid: string };
}

/** `key`: PEM, a P-256 private key. */
export function legacyTokenSigner(key: string): (of: LegacyTokenOf) => string {
  const privateKey = createPrivateKey(key);
  const part = (value: object): string => Buffer.from(JSON.stringify(value), 'utf8').toString('base64url');
  return ({ namespace, secret, serviceAccount }) => {
    const claims = {
      iss: 'kubernetes/serviceaccount',
      'kubernetes.io/serviceaccount/namespace': namespace,
      'kubernetes.io/serviceaccount/secret.name': secret,
      'kubernetes.io/serviceaccount/service-account.name': serviceAccount.name,
      'kubernetes.io/serviceaccount/service-account.uid': serviceAccount.uid,
      sub: `system:serviceaccount:${namespace}:${serviceAccount.name}`,
    };
    const text = `${part({ alg: 'ES256' })}.${part(claims)}`;
    const signature = sign('sha256', Buffer.from(text, 'latin1'), { key: privateKey, dsaEncoding: 'ieee-p1363' });
    return `${text}.${signature.toString('base64url')}`;
  };
}
