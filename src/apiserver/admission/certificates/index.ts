// Plugins for certificate signing requests. To approve or sign requests of a signer, a user needs a
// permission for that signer's name. Some subjects are never allowed.

import type { CertificateSigningRequest as Mutable } from '#api/groups/certificates/v1/index.ts';
import { parseCertificateRequest } from '#api/groups/certificates/v1/request.ts';
import { KUBE_API_SERVER_CLIENT } from '#api/groups/certificates/v1/signers.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { deepEqual } from '#machinery/deep.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { quote } from '#machinery/text/go-format.ts';
import type { Authorizer } from '#apiserver/authorization/authorizer.ts';
import type { AdmissionAttributes, AdmissionPlugin, AdmissionTarget } from '../plugin.ts';

type CertificateSigningRequest = Immutable<Mutable>;

const GROUP = 'certificates.k8s.io';

function isRequest({ resource, subresource }: AdmissionTarget, wanted: string): boolean {
  return (
    resource.group === GROUP &&
    resource.resource === 'certificatesigningrequests' &&
    subresource === wanted
  );
}

abstract class SignerPermission {
  readonly #authorizer: Authorizer;
  readonly #verb: 'approve' | 'sign';

  constructor(authorizer: Authorizer, verb: 'approve' | 'sign') {
    this.#authorizer = authorizer;
    this.#verb = verb;
  }

  /**
   * Checks the permission for the signer's name, or for 'domain/*', which covers all signers of a
   * domain.
   */
  protected async mustBePermitted(attributes: AdmissionAttributes): Promise<void> {
    // The signer of the stored request counts, not the one in the update.
    const { signerName } = (attributes.oldObject as CertificateSigningRequest).spec;
    for (const name of [signerName, `${signerName.split('/')[0]}/*`]) {
      const { decision } = await this.#authorizer.authorize({
        user: attributes.user,
        isResourceRequest: true,
        path: '',
        verb: this.#verb,
        apiGroup: GROUP,
        apiVersion: '*',
        namespace: '',
        resource: 'signers',
        subresource: '',
        name,
      });
      if (decision === 'allow') return;
    }
    const why = `user not permitted to ${this.#verb} requests with signerName ${quote(signerName)}`;
    throw apierrors.forbidden(attributes.resource, attributes.name, why);
  }
}

export class CertificateApproval extends SignerPermission implements AdmissionPlugin {
  readonly name = 'CertificateApproval';

  constructor(authorizer: Authorizer) {
    super(authorizer, 'approve');
  }

  concerns(target: AdmissionTarget): boolean {
    return target.operation === 'UPDATE' && isRequest(target, 'approval');
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    await this.mustBePermitted(attributes);
  }
}

export class CertificateSigning extends SignerPermission implements AdmissionPlugin {
  readonly name = 'CertificateSigning';

  constructor(authorizer: Authorizer) {
    super(authorizer, 'sign');
  }

  concerns(target: AdmissionTarget): boolean {
    return target.operation === 'UPDATE' && isRequest(target, 'status');
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    const { status } = attributes.object as CertificateSigningRequest;
    const { status: old } = attributes.oldObject as CertificateSigningRequest;
    const unchanged =
      status.certificate === old.certificate && deepEqual(status.conditions, old.conditions);
    if (!unchanged) await this.mustBePermitted(attributes);
  }
}

/** Rejects requests for certificates of the group system:masters. */
export class CertificateSubjectRestriction implements AdmissionPlugin {
  readonly name = 'CertificateSubjectRestriction';

  concerns(target: AdmissionTarget): boolean {
    return target.operation === 'CREATE' && isRequest(target, '');
  }

  validate(attributes: AdmissionAttributes): void {
    const { spec } = attributes.object as CertificateSigningRequest;
    if (spec.signerName !== KUBE_API_SERVER_CLIENT) return;
    let organizations: readonly string[];
    try {
      ({ organizations } = parseCertificateRequest(spec.request));
    } catch (error) {
      const why = `failed to parse CSR: ${errorMessage(error)}`;
      throw apierrors.forbidden(attributes.resource, attributes.name, why);
    }
    if (!organizations.includes('system:masters')) return;
    const why = `use of ${KUBE_API_SERVER_CLIENT} signer with system:masters group is not allowed`;
    throw apierrors.forbidden(attributes.resource, attributes.name, why);
  }
}
