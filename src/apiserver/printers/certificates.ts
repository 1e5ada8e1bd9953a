// The table of certificate signing requests.

import type * as certificates from '#api/groups/certificates/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { humanDuration } from '#machinery/text/duration.ts';
import type { TableConvertor } from '../tables/table.ts';
import { since } from '../tables/age.ts';
import { AGE, column, NAME } from '../tables/columns.ts';

type CertificateSigningRequest = Immutable<certificates.CertificateSigningRequest>;

export const certificateSigningRequestTable: TableConvertor<CertificateSigningRequest> = {
  columns: [
    NAME,
    AGE,
    column('SignerName', 'Who is to sign it.'),
    column('Requestor', 'Who asked.'),
    column('RequestedDuration', 'How long the certificate is wanted to last.'),
    column('Condition', 'What has become of it.'),
  ],
  cells: (request, now) => {
    const { metadata, spec } = request;
    const { signerName, username = '', expirationSeconds } = spec;
    return [
      metadata.name,
      since(metadata.creationTimestamp, now),
      signerName,
      username,
      expirationSeconds === undefined ? '<none>' : humanDuration(expirationSeconds * 1000),
      conditionOf(request),
    ];
  },
};

function conditionOf({ status: { conditions = [], certificate } }: CertificateSigningRequest): string {
  const has = (wanted: string): boolean => conditions.some(({ type }) => type === wanted);
  const decision = has('Denied') ? 'Denied' : has('Approved') ? 'Approved' : 'Pending';
  return `${decision}${has('Failed') ? ',Failed' : ''}${certificate === undefined ? '' : ',Issued'}`;
}
