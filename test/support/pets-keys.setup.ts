import { setKeyPrefix } from '../../gateway/config/key-prefix.ts';
import { petsKeyPrefix } from '../../gateway/services/pets-service.ts';

/** Tests make and check keys as the gateways do that they start: most of these have no services file. */
setKeyPrefix(petsKeyPrefix);
