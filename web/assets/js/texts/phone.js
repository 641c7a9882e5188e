// The words about phones and other devices.

import { translated } from "../shared/language.js";

export const phoneWords = translated("phone", {
  pushOn: "Notifications are on, also while this page is closed.",
  codeIsOver: "That code was used already or is too old. Ask for a new one, or sign in with the token.",
  signInPhone: "Sign in a phone",
  signInPhoneTitle: "Sign in another device",
  signInPhoneText: "Scan this code with the camera of the other device. It signs in once, within five minutes.",
  signInPhoneLocal: "This page is open at an address of this computer only. Open it at one that the other device can reach.",
  signInPhoneCode: "QR code of the address",
  signInPhoneLink: "Or open this address there:",
});
