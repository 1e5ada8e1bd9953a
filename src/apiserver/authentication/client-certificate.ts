// Authenticates client certificates: the common name is the user, the organizations are its groups.
// TLS has already verified the certificate.

import type { ApiRequest, PeerCertificate, UserInfo } from '../request.ts';
import type { Authenticator } from './authenticator.ts';

const CREDENTIAL_ID = 'authentication.kubernetes.io/credential-id';

export class ClientCertificateAuthenticator implements Authenticator {
  /** One user for each connection, however many requests arrive over it. */
  readonly #users = new WeakMap<PeerCertificate, UserInfo>();

  authenticate(request: Pick<ApiRequest, 'peerCertificate'>): UserInfo | undefined {
    const certificate = request.peerCertificate;
    if (
      certificate === undefined ||
      certificate.isClient === false ||
      certificate.commonName === ''
    )
      return undefined;
    let user = this.#users.get(certificate);
    if (user === undefined) {
      const { commonName, organizations, fingerprint } = certificate;
      user = {
        name: commonName,
        groups: organizations,
        ...(fingerprint !== undefined && {
          extra: { [CREDENTIAL_ID]: [`X509SHA256=${fingerprint}`] },
        }),
      };
      this.#users.set(certificate, user);
    }
    return user;
  }
}
