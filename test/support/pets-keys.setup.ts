import { setKeyPrefix } from '../../gateway/platform/config/key-prefix.ts';
import { petsKeyPrefix } from '../../gateway/upstream/pets-service.ts';

/** Tests make and check keys as the gateways do that they start: most of these have no services file. */
setKeyPrefix(petsKeyPrefix);
