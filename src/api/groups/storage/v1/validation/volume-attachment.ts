// Validation of volume attachments: the request to attach a volume to a node, and its status.

import { semanticEqual } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';
import { invalidEach, MAX_INT32 } from '#api/groups/core/v1/validation/common.ts';
import { validateInlineVolumeSpec } from '#api/groups/core/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type * as storage from '../types.ts';
import { driverName } from './csi.ts';

type VolumeAttachment = Immutable<storage.VolumeAttachment>;
type Source = VolumeAttachment['spec']['source'];
type VolumeError = Immutable<storage.VolumeError>;

const SPEC = field.path('spec');
const STATUS = field.path('status');
const MAX_METADATA_SIZE = 256 * 1024;
const MAX_MESSAGE_SIZE = 1024;
const ONE_OF = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName';

export function validateVolumeAttachment(attachment: VolumeAttachment): FieldErrorList {
  const { spec, status } = attachment;
  const name = spec.source.persistentVolumeName;
  const metadata = Object.entries(status.attachmentMetadata ?? {});
  const size = metadata.reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value),
    0,
  );
  return [
    ...driverName(spec.attacher, SPEC.child('attacher')),
    ...attachmentSource(spec.source, SPEC.child('source')),
    ...invalidEach(
      SPEC.child('nodeName'),
      spec.nodeName,
      validation.isDNS1123Subdomain(spec.nodeName),
    ),
    ...(size > MAX_METADATA_SIZE
      ? [field.tooLong(STATUS.child('attachmentMetadata'), '', MAX_METADATA_SIZE)]
      : []),
    ...volumeError(status.attachError, STATUS.child('attachError')),
    ...volumeError(status.detachError, STATUS.child('detachError')),
    ...(name === undefined
      ? []
      : invalidEach(
          SPEC.child('source', 'persistentVolumeName'),
          name,
          validation.isDNS1123Subdomain(name),
        )),
  ];
}

/** Validates an update, also of the status. */
export function validateVolumeAttachmentUpdate(
  attachment: VolumeAttachment,
  old: VolumeAttachment,
): FieldErrorList {
  const errors = validateVolumeAttachment(attachment);
  if (!semanticEqual(attachment.spec, old.spec))
    errors.push(field.invalid(SPEC, attachment.spec, 'field is immutable'));
  return errors;
}

function attachmentSource(
  { persistentVolumeName: name, inlineVolumeSpec: spec }: Source,
  at: FieldPath,
): FieldErrorList {
  if (name === undefined && spec === undefined) return [field.required(at, ONE_OF)];
  if (name !== undefined && spec !== undefined) return [field.forbidden(at, ONE_OF)];
  if (spec !== undefined) return validateInlineVolumeSpec(spec, at.child('inlineVolumeSpec'));
  return name === ''
    ? [
        field.required(
          at.child('persistentVolumeName'),
          'must specify non empty persistentVolumeName',
        ),
      ]
    : [];
}

function volumeError(error: VolumeError | undefined, at: FieldPath): FieldErrorList {
  const { message = '', errorCode = 0 } = error ?? {};
  return [
    // As in upstream, the limit in the message differs from the checked one.
    ...(Buffer.byteLength(message) > MAX_MESSAGE_SIZE
      ? [field.tooLong(at.child('message'), '', MAX_METADATA_SIZE)]
      : []),
    ...(errorCode < 0
      ? invalidEach(at.child('errorCode'), errorCode, validation.isInRange(errorCode, 0, MAX_INT32))
      : []),
  ];
}
