// Authenticates client certificates: the common name is the user, the organizations are its groups,
// and an attribute of the subject may have its UID. TLS has already verified the certificate. A
// browser sends it with the requests of any page, so it does not count for pages of other origins.

import { isOfForeignPage } from '#machinery/net/origin.ts';
import type { ApiRequest, PeerCertificate, UserInfo } from '../request.ts';
import type { Authenticator } from './authenticator.ts';

const CREDENTIAL_ID = 'authentication.kubernetes.io/credential-id';

/**
 * Reports whether the certificate has several UIDs, or an empty one. Such a certificate identifies no
 * user, and its request is not anonymous either.
 */
export const hasInvalidUid = ({ uids = [] }: PeerCertificate): boolean =>
  uids.length > 1 || uids[0] === '';

export class ClientCertificateAuthenticator implements Authenticator {
  /** One user for each connection, however many requests arrive over it. */
  readonly #users = new WeakMap<PeerCertificate, UserInfo>();

  authenticate({
    headers,
    peerCertificate: certificate,
  }: Pick<ApiRequest, 'headers' | 'peerCertificate'>): UserInfo | undefined {
    if (
      certificate === undefined ||
      certificate.isClient === false ||
      certificate.commonName === '' ||
      hasInvalidUid(certificate) ||
      isOfForeignPage(headers)
    )
      return undefined;
    let user = this.#users.get(certificate);
    if (user === undefined) {
      const { commonName, organizations, fingerprint, uids } = certificate;
      user = {
        name: commonName,
        groups: organizations,
        ...(uids?.[0] !== undefined && { uid: uids[0] }),
        ...(fingerprint !== undefined && {
          extra: { [CREDENTIAL_ID]: [`X509SHA256=${fingerprint}`] },
        }),
      };
      this.#users.set(certificate, user);
    }
    return user;
  }
}
