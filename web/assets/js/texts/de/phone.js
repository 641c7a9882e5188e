// Phones and other devices, in German.

/** @type {typeof import("../phone.js").phoneWords} */
export const phoneWords = {
  pushOn: "Benachrichtigungen sind an, auch wenn diese Seite geschlossen ist.",
  codeIsOver: "Dieser Code wurde schon verwendet oder ist zu alt. Bitte einen neuen anfordern oder mit dem Token anmelden.",
  signInPhone: "Telefon anmelden",
  signInPhoneTitle: "Ein anderes Gerät anmelden",
  signInPhoneText: "Diesen Code mit der Kamera des anderen Geräts scannen. Er meldet es einmal an, innerhalb von fünf Minuten.",
  signInPhoneLocal:
    "Diese Seite ist unter einer Adresse offen, die nur dieser Computer erreicht. Bitte unter einer öffnen, die auch das andere Gerät erreicht.",
  signInPhoneCode: "QR-Code der Adresse",
  signInPhoneLink: "Oder dort diese Adresse öffnen:",
};
