// API objects in protobuf, Kubernetes' binary encoding.

export { decodeMessage } from './decode.ts';
export { encodeMessage } from './encode.ts';
export {
  decodeProtobuf,
  encodeProtobuf,
  type Envelope,
  ENVELOPE_TAIL,
  envelopeHead,
  isProtobuf,
  messageInEnvelope,
  openEnvelope,
  PROTOBUF_CONTENT_TYPE,
} from './envelope.ts';
export { type ListFrame, listFrame } from './list-frame.ts';
export { watchFrame } from './watch-frame.ts';
export { ProtobufError } from './wire.ts';
